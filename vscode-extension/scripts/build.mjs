// Bundles the extension, and puts beside it the licences of what the bundle holds. The wheel of codeserve is there already.
// VS Code shows pictures of a README only from the web: with IMAGES_URL, where the folder `media` is, they are there.

import { readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import esbuild from 'esbuild';

const root = path.dirname(import.meta.dirname);

const { version } = JSON.parse(await readFile(path.join(root, 'package.json'), 'utf8'));
const wheel = `codeserve-${version}-py3-none-any.whl`;
const wheels = (await readdir(path.join(root, 'dist')).catch(() => [])).filter((each) =>
  each.endsWith('.whl'),
);
if (wheels.length !== 1 || wheels[0] !== wheel) {
  throw new Error(`dist/ must hold ${wheel} and no other wheel, as "make vsix" builds it; it has: ${wheels}`);
}

const { metafile } = await esbuild.build({
  absWorkingDir: root,
  entryPoints: ['src/extension.ts'],
  outfile: 'dist/extension.js',
  bundle: true,
  minify: true,
  metafile: true,
  external: ['vscode'],
  define: { WHEEL: JSON.stringify(wheel) },
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

// Without a web address for them they are left out: a picture that does not show is worse than none.
const images = process.env['IMAGES_URL'];
const readme = await readFile(path.join(root, 'README.md'), 'utf8');
const packed = images
  ? readme.replaceAll('](media/', () => `](${images.replace(/\/$/, '')}/media/`)
  : readme.replaceAll(/^!\[[^\]]*\]\(media\/[^)]+\)\n\n/gm, '');
if (packed.includes('](media/')) {
  throw new Error('README.md: a picture stands on a line of its own, with a blank line behind it');
}
await writeFile(path.join(root, 'dist', 'README.md'), packed);
