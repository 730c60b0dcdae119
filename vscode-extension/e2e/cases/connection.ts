/** The token, and a server that goes and comes back. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { START_MS, TOKEN } from '../harness/completionServer.ts';
import { until, untilEqual } from '../harness/wait.ts';
import type { World } from '../harness/world.ts';

const TEXT = 'class Point:\n    def __init__(self, x, y):\n        self.x = x\n        ';

/** First of all cases: there is no token yet. */
export function firstToken(world: World): void {
  test('without a token one message asks for it, and with it the extension is ready', async () => {
    const { window } = world;
    await window.untilStatus('offline', 'token');
    const message = window.messages('asks for a token');
    await message.waitFor();
    await message.getByRole('button', { name: 'Set Token' }).click();
    const box = window.page.locator('.quick-input-widget:visible input[type="password"]');
    await box.waitFor();
    await world.picture('token', 'walkthrough/token.png');
    await box.fill(TOKEN);
    await box.press('Enter');
    await window.untilStatus('ready');
  });
}

export function wrongToken(world: World): void {
  test('a wrong token: one clear message, then quiet', async () => {
    const { window } = world;
    await window.setToken('a-wrong-token');
    await window.untilStatus('offline', 'token');
    const message = window.messages('does not accept the token');
    await message.waitFor();
    await world.picture('wrong-token');
    await window.closeMessages();

    await world.write('token.py', `${TEXT}\n`);
    await window.open('token.py', 4);
    await window.type('self.');
    await window.command('codeserve: Trigger Completion');
    await world.assertSaved('token.py', `${TEXT}self.\n`);
    assert.equal(await window.messages().count(), 0);
    assert.equal(await window.ghost(), '');

    await window.setToken(TOKEN);
    await window.untilStatus('ready');
    await window.command('codeserve: Trigger Completion');
    await window.untilGhostIs('y = y');
    await window.close();
  });
}

/** Last of all cases: the server is another one after it. */
export function stoppedServer(world: World): void {
  test('the server stops: offline and quiet; it is started from the window: completions are back', async () => {
    const { window, server } = world;
    await world.write('stopped.py', `${TEXT}\n`);
    await window.open('stopped.py', 4);
    await server.stop();
    await window.untilStatus('offline');
    await world.picture('offline');
    await window.type('self.');
    await world.assertSaved('stopped.py', `${TEXT}self.\n`);
    assert.equal(await window.ghost(), '');
    assert.equal(await window.messages().count(), 0);

    const free = await server.occupy();
    await window.command('codeserve: Start Local Server');
    await window.messages(/starting the server: waiting for port/).waitFor();
    free();
    await window.messages(/starting the server: (?!waiting)\w/).waitFor();
    await world.picture('starting', 'walkthrough/server.png');
    await window.untilStatus('ready', '', START_MS);
    await window.command('codeserve: Trigger Completion');
    await window.untilGhostIs('y = y');
    await window.press('Tab');
    await world.assertSaved('stopped.py', `${TEXT}self.y = y\n`);
    await window.close();
  });

  test('the server that a window has started ends with it', async () => {
    assert.ok(await world.server.alive());
    await world.editor.stop();
    await untilEqual('a server answers', () => world.server.alive(), false);
    await until('the port is free', async () => !(await world.server.ready()));
  });
}
