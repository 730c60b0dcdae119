// Bundles the extension, and puts beside it the licences of what the bundle holds.

import { readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import esbuild from 'esbuild';

const root = path.dirname(import.meta.dirname);

const { metafile } = await esbuild.build({
  absWorkingDir: root,
  entryPoints: ['src/extension.ts'],
  outfile: 'dist/extension.js',
  bundle: true,
  minify: true,
  metafile: true,
  external: ['vscode'],
  format: 'cjs',
  platform: 'node',
  target: 'node20', // of VS Code 1.91
});

const packages = new Set(
  Object.keys(metafile.inputs).flatMap(
    (file) => /^(node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(file)?.[1] ?? [],
  ),
);
const notices = [];
for (const folder of [...packages].sort()) {
  const { name, version, license } = JSON.parse(
    await readFile(path.join(root, folder, 'package.json'), 'utf8'),
  );
  const file = (await readdir(path.join(root, folder))).find((each) => /^licen[cs]e/i.test(each));
  if (file === undefined) {
    throw new Error(`${folder} comes without a licence file`);
  }
  const text = (await readFile(path.join(root, folder, file), 'utf8')).trim();
  notices.push(`${name} ${version} (${license})\n\n${text}\n`);
}
await writeFile(path.join(root, 'dist', 'NOTICES.txt'), notices.join(`\n${'-'.repeat(80)}\n\n`));
