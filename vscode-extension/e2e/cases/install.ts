/** A machine without the language server. */

import assert from 'node:assert/strict';
import { mkdir, readdir, symlink, unlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { PYTHON } from '../harness/places.ts';
import { until } from '../harness/wait.ts';
import { linkEnvironment, type World } from '../harness/world.ts';

/** To make an environment and to install some thirty wheels into it, beside a browser and an engine. */
const INSTALL_MS = 200_000;

/** To give up a language server that hangs, and some more. */
const HANG_MS = 60_000;

/** The one entry of a folder with such a name, in full. */
async function only(folder: string, name: RegExp): Promise<string> {
  const found = (await readdir(folder)).filter((each) => name.test(each));
  assert.equal(found.length, 1, `in ${folder}: ${found.join(', ')}`);
  return path.join(folder, found[0] ?? '');
}

/** The exact command for this machine: it names the wheel that came with the extension, and no other source. */
async function installCommand(world: World): Promise<string> {
  const extension = await only(path.join(world.folder, 'extensions'), /^codeserve\.codeserve-/);
  const wheel = await only(path.join(extension, 'dist'), /\.whl$/);
  const venv = path.join(world.folder, 'home', '.codeserve', 'venv');
  return `python3 -m venv ${venv} && ${venv}/bin/python -m pip install ${wheel}`;
}

export function install(world: World): void {
  test('who does not want to be asked is not, and what is installed by hand is found', async () => {
    const folder = path.join(world.folder, 'by-hand');
    await mkdir(folder);
    const asked = await world.open(folder);
    await asked.untilStatus('offline', 'was not found');
    await asked.messages('codeserve-lsp').getByRole('button', { name: "Don't Ask Again" }).click();
    await until('the setting is written', async () =>
      (await world.editor.settings()).includes('askToInstall'),
    );
    await asked.page.close();

    const window = await world.open(folder);
    await window.untilStatus('offline', 'was not found');
    await linkEnvironment(folder);
    await window.untilStatus('ready');
    await window.command('Notifications: Show Notifications');
    const all = window.page.locator('.notifications-center');
    await all.waitFor();
    assert.equal(await all.locator('.notification-list-item').count(), 0);
    await window.page.close();
    await world.editor.set({});
  });

  test('a language server that hangs is given up, with a message that restarts it', async () => {
    const folder = path.join(world.folder, 'hanging');
    await mkdir(folder);
    const program = path.join(folder, 'codeserve-lsp');
    await writeFile(program, '#!/bin/sh\nexec sleep 1000\n', { mode: 0o755 });
    await world.set({ 'codeserve.languageServerPath': program }, folder);
    const window = await world.open(folder);
    await window.untilStatus('offline', 'is starting');
    await window.untilStatus('offline', 'did not answer', HANG_MS);
    const message = window.messages('did not answer');
    await message.waitFor();
    assert.equal(await message.count(), 1);
    await unlink(program);
    await symlink(path.join(path.dirname(PYTHON), 'codeserve-lsp'), program);
    await message.getByRole('button', { name: 'Restart' }).click();
    await window.untilStatus('ready');
    await window.page.close();
  });

  test('without a language server one prompt offers the command that installs it, and then it runs', async () => {
    const folder = path.join(world.folder, 'empty');
    await mkdir(folder);
    // neither what the workspace holds nor what an earlier Python left behind is to be run
    await writeFile(
      path.join(folder, 'types.py'),
      'raise SystemExit("a module of the workspace was imported")\n',
    );
    const left = path.join(world.folder, 'home', '.codeserve', 'venv', 'bin', 'codeserve-lsp');
    await mkdir(path.dirname(left), { recursive: true });
    await writeFile(left, '#!/nowhere/python3.9\n', { mode: 0o755 });
    const window = await world.open(folder);
    await window.untilStatus('offline', 'was not found');
    const prompt = window.messages('codeserve-lsp');
    await prompt.waitFor();
    assert.equal(await prompt.count(), 1);
    await prompt.getByRole('button', { name: 'Show Install Command' }).click();
    const command = await installCommand(world);
    const terminal = window.page.locator('.terminal-wrapper.active');
    await until('the command stands in the terminal', async () => {
      const rows = await terminal.locator('.xterm-rows > div').allTextContents();
      return rows.join('').replaceAll('\u00a0', ' ').includes(command);
    });
    await world.picture('install', 'walkthrough/install.png', window);
    await terminal.locator('textarea').press('Enter');
    await window.untilStatus('ready', '', INSTALL_MS);
    await world.picture('installed', undefined, window);
    await window.page.close();
  });
}
