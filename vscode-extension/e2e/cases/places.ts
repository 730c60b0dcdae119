/** Places in which text goes wrong easily. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { World } from '../harness/world.ts';

export function places(world: World): void {
  test('in the middle of a line the suggestion goes between what is there', async () => {
    const { window } = world;
    const lines = ['import os\n\n\ndef names(folder):\n    return os.path.join', ", 'names')\n"] as const;
    await world.write('middle.py', lines.join('('));
    await window.open('middle.py', 5, lines[1].trim().length);
    await window.command('codeserve: Trigger Completion');
    const ghost = await window.untilGhost();
    assert.match(ghost, /^\w[^\n]*$/); // what it is, is the model's; that it stands in one line, between, is ours
    await world.picture('middle-of-a-line', 'screenshots/middle-of-a-line.png');
    await window.press('Tab');
    await world.assertSaved('middle.py', lines.join(`(${ghost}`));
    await window.close();
  });

  test('a file with CRLF gets lines that end in CRLF', async () => {
    const { window } = world;
    const [above, below] = ['def total(values):\r\n    result = 0', '\r\n    return result\r\n'];
    await world.write('crlf.py', `${above}${below}`);
    await window.open('crlf.py', 2);
    await window.press('Enter');
    const ghost = await window.untilGhost();
    assert.match(ghost, /:\n {8}\S/);
    await window.press('Tab');
    const inserted = ghost.replaceAll('\n', '\r\n');
    await world.assertSaved('crlf.py', `${above}\r\n    ${inserted}${below}`);
    await window.close();
  });

  test('behind an emoji the text goes in at the cursor', async () => {
    const { window } = world;
    const text = "def show(items):\n    print('😀👍🏽', len";
    await world.write('emoji.py', `${text}))\n`);
    await window.open('emoji.py', 2, '))'.length);
    await window.type('(');
    await window.untilGhostIs('items');
    await window.press('Tab');
    await world.assertSaved('emoji.py', `${text}(items))\n`);
    await window.close();
  });

  test('with the IntelliSense popup open the suggestion goes on from the entry that is picked', async () => {
    const { window } = world;
    const text =
      'class Circle:\n    def __init__(self, radius):\n        self.radius = radius\n        self.area = ra';
    await world.write('popup.py', `${text}\n`);
    await window.open('popup.py', 4);
    const before = await world.feedback('partially_accepted');
    await window.press('Control+Space');
    const popup = window.page.locator('.suggest-widget.visible .monaco-list-row.focused', {
      hasText: 'radius',
    });
    await popup.waitFor();
    const ghost = await window.untilGhost();
    assert.ok(ghost.startsWith('dius'), ghost);
    await world.picture('intellisense');
    await window.press('Enter');
    await world.assertSaved('popup.py', `${text}dius\n`);
    // the entry was taken from the popup, and nothing from the suggestion
    assert.equal(await world.feedback('partially_accepted'), before);
    await window.close();
  });
}
