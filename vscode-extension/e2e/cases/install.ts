/** A machine without the language server. */

import assert from 'node:assert/strict';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { until } from '../harness/wait.ts';
import type { World } from '../harness/world.ts';

export function install(world: World): void {
  test('without a language server one prompt offers the command that installs it', async () => {
    const folder = path.join(world.folder, 'empty');
    await mkdir(folder);
    const window = await world.open(folder);
    await window.untilStatus('offline', 'was not found');
    const prompt = window.messages('codeserve-lsp');
    await prompt.waitFor();
    assert.equal(await prompt.count(), 1);
    await prompt.getByRole('button', { name: 'Show Install Command' }).click();
    const home = path.join(world.folder, 'home');
    const command = `python3 -m venv ${home}/.codeserve/venv && ${home}/.codeserve/venv/bin/python -m pip install codeserve`;
    const rows = window.page.locator('.terminal-wrapper.active .xterm-rows > div');
    await until('the command stands in the terminal', async () => {
      const text = (await rows.allTextContents()).join('').replaceAll('\u00a0', ' ');
      return text.includes(command);
    });
    await world.picture('install', 'walkthrough/install.png', window);
    await window.page.close();
  });
}
