/** A workspace that nobody trusts. */

import assert from 'node:assert/strict';
import { access, mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { until } from '../harness/wait.ts';
import type { World } from '../harness/world.ts';

const RESTRICTED = {
  'security.workspace.trust.enabled': true,
  'security.workspace.trust.startupPrompt': 'never',
  'security.workspace.trust.banner': 'never',
};

const ELSEWHERE = 'ws://127.0.0.1:9';

export function trust(world: World): void {
  test('a folder that nobody trusts names no program and no server; once trusted its program runs', async () => {
    const folder = path.join(world.folder, 'downloaded');
    const program = path.join(folder, '.venv', 'bin', 'codeserve-lsp');
    const mark = path.join(world.folder, 'it-ran');
    const ran = (): Promise<boolean> =>
      access(mark).then(
        () => true,
        () => false,
      );
    await mkdir(path.dirname(program), { recursive: true });
    await writeFile(program, `#!/bin/sh\ntouch ${mark}\n`, { mode: 0o755 });
    await world.set({ 'codeserve.languageServerPath': program, 'codeserve.serverUrl': ELSEWHERE }, folder);

    await world.editor.set(RESTRICTED);
    const restricted = await world.open(folder);
    await restricted.untilStatus('offline', 'was not found');
    assert.ok((await restricted.diagnostics()).includes(`  serverUrl: ${world.server.url}\n`));
    assert.equal(await ran(), false);
    await restricted.page.close();

    await world.editor.set({});
    const trusted = await world.open(folder);
    await until('the program of the folder runs', ran);
    await trusted.page.close();
  });
}
