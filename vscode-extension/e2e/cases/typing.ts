/** Ghost text while typing, and the keys that take it. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ACCEPT_LINE } from '../harness/editorServer.ts';
import type { World } from '../harness/world.ts';
import { until } from '../harness/wait.ts';

const POINT = 'class Point:\n    def __init__(self, x, y):\n        self.x = x\n        ';
const TOTAL = ['def total(values):\n    result = 0', '\n    return result\n'] as const;
/** What the editor puts in for Enter there. */
const ENTER = '\n    ';

export function typing(world: World): void {
  test('ghost text shows while typing, and is not in the file', async () => {
    const { window } = world;
    await world.write('typing.py', `${POINT}\n`);
    await window.open('typing.py', 4);
    await window.type('self.');
    await window.untilGhostIs('y = y');
    await world.picture('ghost-text', 'walkthrough/try.png');
    await world.assertSaved('typing.py', `${POINT}self.\n`);
    await window.close();
  });

  test('Tab puts it into the file, and the server hears of it', async () => {
    const { window } = world;
    await world.write('tab.py', `${POINT}\n`);
    await window.open('tab.py', 4);
    const before = await world.feedback('accepted');
    await window.type('self.');
    await window.untilGhostIs('y = y');
    await window.press('Tab');
    await world.assertSaved('tab.py', `${POINT}self.y = y\n`);
    await until('the server hears of it', async () => (await world.feedback('accepted')) === before + 1);
    await window.close();
  });

  test('Ctrl+Right takes a word of it, the rest stays, and the server hears of the word', async () => {
    const { window } = world;
    const [above, below] = ['def largest(circles):\n    if not circles:', '\n    return max(circles)\n'];
    await world.write('word.py', `${above}${below}`);
    await window.open('word.py', 2);
    const before = await world.feedback('partially_accepted');
    await window.press('Enter');
    const ghost = await window.untilGhost();
    await window.press('Control+ArrowRight');
    const word = 'return';
    assert.ok(ghost.startsWith(`${word} `), ghost);
    await world.assertSaved('word.py', `${above}\n        ${word}${below}`);
    await window.untilGhostIs(ghost.slice(word.length));
    await until(
      'the server hears of it',
      async () => (await world.feedback('partially_accepted')) === before + 1,
    );
    await window.close();
  });

  test('Escape sends it away and leaves the file alone; the command brings it back', async () => {
    const { window } = world;
    await world.write('escape.py', `${POINT}\n`);
    await window.open('escape.py', 4);
    await window.type('self.');
    const ghost = await window.untilGhost();
    await window.press('Escape');
    await window.untilGhostIs('');
    await window.command('codeserve: Trigger Completion');
    await window.untilGhostIs(ghost);
    await world.assertSaved('escape.py', `${POINT}self.\n`);
    await window.close();
  });

  test('several lines show below the cursor, and Tab takes them all', async () => {
    const { window } = world;
    const [before, after] = TOTAL;
    await world.write('lines.py', `${before}${after}`);
    await window.open('lines.py', 2);
    await window.press('Enter');
    const ghost = await window.untilGhost();
    assert.match(ghost, /^for .*:\n {8}\S/);
    await world.picture('several-lines', 'screenshots/several-lines.png');
    await window.press('Tab');
    await world.assertSaved('lines.py', `${before}${ENTER}${ghost}${after}`);
    await window.close();
  });

  test('the command of VS Code takes a line of it, and the server hears of the line', async () => {
    const { window } = world;
    const [before, after] = TOTAL;
    await world.write('line.py', `${before}${after}`);
    await window.open('line.py', 2);
    const heard = await world.feedback('partially_accepted');
    await window.press('Enter');
    const ghost = await window.untilGhost();
    const [line = '', ...rest] = ghost.split('\n');
    assert.ok(rest.length > 0, ghost);
    await window.press(ACCEPT_LINE);
    await world.assertSaved('line.py', `${before}${ENTER}${line}\n${after}`);
    await until(
      'the server hears of it',
      async () => (await world.feedback('partially_accepted')) === heard + 1,
    );
    await window.close();
  });

  test('asked for by hand, what comes after the time for an answer shows all the same', async () => {
    const { window } = world;
    await world.budget(50);
    await world.write('late.py', `${POINT}self.\n`);
    await window.open('late.py', 4);
    await window.command('codeserve: Trigger Completion');
    await window.untilGhostIs('y = y');
    await window.close();
    await world.budget();
  });
}
