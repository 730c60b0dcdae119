import assert from 'node:assert/strict';
import { test } from 'node:test';
import { History, KEPT } from '../../src/logic/history.ts';
import { percentile, statistics, statisticsLines } from '../../src/logic/statistics.ts';
import { answered, timed } from './samples.ts';

test('answers that say nothing of speed are not kept', () => {
  const history = new History();
  for (const reason of [
    'superseded',
    'cancelled',
    'disabled_here',
    'unavailable',
    'unknown_document',
    'not_here',
  ]) {
    assert.equal(history.answered(answered({ reason })), false);
  }
  assert.deepEqual(history.entries(), []);
  assert.equal(history.answered(answered({ reason: 'deadline' })), true);
});

test('only the last answers are kept, and the counts go on', () => {
  const history = new History();
  for (let number = 0; number < KEPT + 20; number++) {
    history.answered(answered({ request: String(number), ms: number }));
  }
  const entries = history.entries();
  assert.equal(entries.length, KEPT);
  assert.equal(entries[0]?.answer.ms, 20);
  assert.equal(history.counts().returned, KEPT + 20);
});

test('the stages of a request are found for its answer, before or after it', () => {
  const history = new History();
  history.timed(timed({ request: 'a' }));
  history.answered(answered({ request: 'a' }));
  history.answered(answered({ request: 'b' }));
  assert.deepEqual(
    history.entries().map((entry) => entry.timed?.request),
    ['a', undefined],
  );
  history.timed(timed({ request: 'b' }));
  assert.equal(history.entries()[1]?.timed?.request, 'b');
});

test('a suggestion that is typed through counts as one that was returned', () => {
  const history = new History();
  history.answered(answered({ request: 'a' }));
  history.answered(answered({ request: 'a', cached: true }));
  history.answered(answered({ request: 'b', items: 0 }));
  history.took(false);
  assert.deepEqual(history.counts(), { returned: 1, accepted: 1, partly: 0 });
});

test('a suggestion that is taken twice is not more than all', () => {
  const history = new History();
  history.answered(answered({ request: 'a' }));
  history.took(false);
  history.answered(answered({ request: 'a', cached: true }));
  history.took(false);
  assert.deepEqual(history.counts(), { returned: 2, accepted: 2, partly: 0 });
});

test('the first request of another connection is not the first of the one before', () => {
  const history = new History();
  history.answered(answered({ request: '1' }));
  history.timed(timed({ request: '1', decodeMs: 10 }));
  history.connected();
  history.answered(answered({ request: '1' }));
  assert.deepEqual(
    history.entries().map((entry) => entry.timed?.decodeMs),
    [10, undefined],
  );
  history.timed(timed({ request: '1', decodeMs: 20 }));
  assert.deepEqual(
    history.entries().map((entry) => entry.timed?.decodeMs),
    [10, 20],
  );
  assert.equal(history.counts().returned, 2);
});

test('percentiles are by nearest rank', () => {
  const values = Array.from({ length: 100 }, (_, index) => 100 - index);
  assert.equal(percentile(values, 50), 50);
  assert.equal(percentile(values, 95), 95);
  assert.equal(percentile([7], 95), 7);
  assert.equal(percentile([], 50), undefined);
});

test('the tooltip has nothing to say before the first answer', () => {
  assert.deepEqual(statisticsLines(statistics(new History())), ['No answers yet']);
});

test('the tooltip has percentiles, cache hits and acceptance', () => {
  const history = new History();
  history.answered(answered({ request: 'a', ms: 100 }));
  history.answered(answered({ request: 'a', ms: 1, cached: true }));
  history.answered(answered({ request: 'b', ms: 250.4 }));
  history.answered(answered({ request: 'c', ms: 30, items: 0 }));
  history.took(false);
  history.took(true);
  assert.deepEqual(statisticsLines(statistics(history)), [
    'Last 4 answers: p50 30 ms, p95 250 ms',
    'Cache hits: 25 %',
    'Accepted: 1 of 2 suggestions returned (50 %), and 1 times a word or a line',
  ]);
});
