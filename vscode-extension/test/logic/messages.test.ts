import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readAnswered, readStatus, readTimed } from '../../src/logic/messages.ts';
import { answered, status, timed } from './samples.ts';

test('messages as the language server sends them are taken as they are', () => {
  assert.deepEqual(readAnswered({ ...answered({}), more: 1 }), answered({}));
  assert.deepEqual(readTimed(timed({})), timed({}));
  assert.deepEqual(readStatus(status('offline', 'gone')), status('offline', 'gone'));
});

test('what is missing or of another type is empty', () => {
  for (const odd of [undefined, null, 7, 'x', [], { uri: 1, ms: '5', cached: 'yes', items: NaN }]) {
    assert.deepEqual(readAnswered(odd), { uri: '', reason: '', ms: 0, request: '', cached: false, items: 0 });
  }
  assert.deepEqual(readStatus({ state: 'ready' }), { state: 'ready', reason: '', url: '', model: '' });
  assert.equal(readTimed({ queueMs: Infinity }).queueMs, 0);
});
