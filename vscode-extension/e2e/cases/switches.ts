/** Switching completions off and on, and settings that hold without a reload. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../harness/wait.ts';
import type { World } from '../harness/world.ts';

const TEXT = 'class Point:\n    def __init__(self, x, y):\n        self.x = x\n        ';

/** Completions that the server has been asked for and has ended. */
async function completions({ server }: World): Promise<number> {
  const name = 'codeserve_requests_total';
  return (await server.metric(name)) - (await server.metric(name, 'finish="prewarmed"'));
}

export function switches(world: World): void {
  for (const [title, name, reason] of [
    ['Toggle Completions Everywhere', 'everywhere.py', 'everywhere'],
    ['Toggle Completions for This Language', 'language.py', 'for python'],
  ] as const) {
    test(`${title}: nothing is asked and nothing shows, until it is switched on again`, async () => {
      const { window } = world;
      await world.write(name, `${TEXT}\n`);
      await window.open(name, 4);
      await window.command(`codeserve: ${title}`);
      await window.untilStatus('disabled', reason);
      // what is under way counts when it ends, a prewarm that is broken off as well
      const idle = async (): Promise<void> => {
        await until('the server is idle', async () => {
          return (await world.server.metric('codeserve_live_sequences')) === 0;
        });
      };
      await idle();
      const before = await completions(world);
      await window.type('self.');
      await world.assertSaved(name, `${TEXT}self.\n`);
      assert.equal(await window.ghost(), '');
      await idle();
      assert.equal(await completions(world), before);

      await window.command(`codeserve: ${title}`);
      await window.untilStatus('ready');
      await window.command('codeserve: Trigger Completion');
      await window.untilGhostIs('y = y');
      await window.close();
    });
  }

  test('restarted three times in a row the language server runs, and completes', async () => {
    const { window } = world;
    await world.write('restarted.py', `${TEXT}\n`);
    await window.open('restarted.py', 4);
    for (let times = 0; times < 3; times++) {
      await window.command('codeserve: Restart Language Server');
    }
    await window.untilStatus('ready');
    await window.type('self.');
    await window.command('codeserve: Trigger Completion');
    await window.untilGhostIs('y = y');
    assert.equal(await window.messages().count(), 0);
    await window.close();
  });

  test('in prose there are none until they are switched on there', async () => {
    const { window } = world;
    await world.write('notes.md', `${TEXT}\n`);
    await window.open('notes.md', 4);
    await window.untilStatus('disabled', 'for markdown');
    await window.command('codeserve: Toggle Completions for This Language');
    await window.untilStatus('ready');
    await window.command('codeserve: Toggle Completions for This Language');
    await window.untilStatus('disabled', 'for markdown');
    await window.close();
  });

  test('the status says so where the editor shows no suggestions', async () => {
    const { window } = world;
    await world.write('editor.py', `${TEXT}\n`);
    await window.open('editor.py', 4);
    await window.untilStatus('ready');
    await world.set({ '[python]': { 'editor.inlineSuggest.enabled': false } });
    await window.untilStatus('disabled', 'editor.inlineSuggest.enabled');
    await world.budget();
    await window.untilStatus('ready');
    await window.close();
  });

  test('the status says so where a document is of a kind that is not completed', async () => {
    const { window } = world;
    await window.command('Preferences: Open Default Settings (JSON)');
    await window.untilStatus('disabled', 'this kind of document');
    await window.close();
    await window.untilStatus('ready');
  });
}
