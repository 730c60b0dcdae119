import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PartialAccepts } from '../../src/logic/partial.ts';

const URI = 'file:///a.py';

function offered(text = 'return a + b', offset = 10): PartialAccepts {
  const accepts = new PartialAccepts();
  accepts.offered(URI, [{ key: '7', offset, text }]);
  return accepts;
}

function put(
  accepts: PartialAccepts,
  offset: number,
  text: string,
  removed = 0,
  undo = false,
): number | undefined {
  return accepts.changed(URI, [{ offset, removed, text }], undo)?.length;
}

test('a word, and the word behind it, are two pieces', () => {
  const accepts = offered();
  assert.deepEqual(accepts.changed(URI, [{ offset: 10, removed: 0, text: 'return' }], false), {
    key: '7',
    length: 6,
  });
  assert.equal(put(accepts, 16, ' a'), 2);
});

test('typing through it is no acceptance, and a word behind that is one', () => {
  const accepts = offered();
  assert.equal(put(accepts, 10, 'r'), undefined);
  assert.equal(put(accepts, 11, 'eturn'), 5);
});

test('the whole text is left to the command of the item', () => {
  assert.equal(put(offered(), 10, 'return a + b'), undefined);
  const accepts = offered();
  assert.equal(put(accepts, 10, 'return a '), 9);
  assert.equal(put(accepts, 19, '+ b'), undefined);
});

test('a pair that the editor closes by itself is typing', () => {
  assert.equal(put(offered('() -> None'), 10, '()'), undefined);
});

test('white space may have come by Enter or Tab: it is typing, and a word behind it is a piece', () => {
  const accepts = offered('\r\n    return a');
  assert.equal(put(accepts, 10, '\r\n    '), undefined);
  assert.equal(put(accepts, 16, 'return'), 6);
  assert.equal(put(offered('    return a'), 10, '    '), undefined);
});

test('text at another place, another text, a replacement and an undo are none, and end the offer', () => {
  for (const [offset, text, removed, undo] of [
    [9, 'return', 0, false],
    [10, 'raise', 0, false],
    [10, 'return', 2, false],
    [10, 'return', 0, true],
  ] as const) {
    const accepts = offered();
    assert.equal(put(accepts, offset, text, removed, undo), undefined);
    assert.equal(put(accepts, 10, 'return'), undefined);
  }
});

test('several changes at once are none', () => {
  const change = { offset: 10, removed: 0, text: 'return' };
  assert.equal(offered().changed(URI, [change, { ...change, offset: 0 }], false), undefined);
});

test('of several suggestions the one that is taken counts', () => {
  const accepts = new PartialAccepts();
  accepts.offered(URI, [
    { key: '1', offset: 0, text: 'first()' },
    { key: '2', offset: 0, text: 'second()' },
  ]);
  assert.deepEqual(accepts.changed(URI, [{ offset: 0, removed: 0, text: 'second' }], false), {
    key: '2',
    length: 6,
  });
});

test('documents do not mix, and one that is closed is forgotten', () => {
  const accepts = offered();
  assert.equal(
    accepts.changed('file:///b.py', [{ offset: 10, removed: 0, text: 'return' }], false),
    undefined,
  );
  accepts.closed(URI);
  assert.equal(put(accepts, 10, 'return'), undefined);
});

test('no suggestion takes away the one before', () => {
  const accepts = offered();
  accepts.offered(URI, []);
  assert.equal(put(accepts, 10, 'return'), undefined);
});

test('what the popup puts in is no acceptance, and a word behind it is one', () => {
  const accepts = offered('area = radius');
  accepts.picked(URI, { offset: 10, text: 'area' });
  assert.equal(put(accepts, 10, 'area'), undefined);
  assert.equal(put(accepts, 14, ' ='), 2);
});

test('a word is one where the popup would put in another, and where it has closed', () => {
  const accepts = offered('area = radius');
  accepts.picked(URI, { offset: 10, text: 'area = ' });
  assert.equal(put(accepts, 10, 'area'), 4);
  const closed = offered('area = radius');
  closed.picked(URI, { offset: 10, text: 'area' });
  closed.picked(URI, undefined);
  assert.equal(put(closed, 10, 'area'), 4);
});
