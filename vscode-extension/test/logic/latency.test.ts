import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bar, chart, SHOWN, STAGES } from '../../src/logic/latency.ts';
import { answered, timed } from './samples.ts';

test('the stages of an answer add up to the time that it took', () => {
  const { stages } = bar({ answer: answered({ ms: 60 }), timed: timed({}) });
  assert.deepEqual(
    stages.map(({ stage, ms }) => [stage, ms]),
    [
      ['language server', 7],
      ['network', 1],
      ['queue', 2],
      ['prefill', 20],
      ['decode', 30],
    ],
  );
  assert.deepEqual(
    stages.map(({ stage }) => stage),
    [...STAGES],
  );
});

test('an answer from the cache is all the language server, whatever its request took once', () => {
  const { stages, note } = bar({ answer: answered({ ms: 2, cached: true }), timed: timed({}) });
  assert.deepEqual(stages, [{ stage: 'language server', ms: 2 }]);
  assert.equal(note, 'from the cache');
});

test('at the deadline the stages go on beyond the answer', () => {
  const shown = bar({ answer: answered({ ms: 285, reason: 'deadline' }), timed: timed({ decodeMs: 900 }) });
  assert.equal(shown.answeredMs, 285);
  assert.equal(shown.stages[0]?.ms, 0);
  assert.match(shown.note, /^stopped waiting at the budget, 100 tokens in \(90 cached\), 4 out$/);
});

test('the newest answers come first, and no more than there is room for', () => {
  const entries = Array.from({ length: SHOWN + 5 }, (_, ms) => ({
    answer: answered({ ms }),
    timed: undefined,
  }));
  const { bars } = chart(entries, 300);
  assert.equal(bars.length, SHOWN);
  assert.equal(bars[0]?.answeredMs, SHOWN + 4);
});

test('the scale has room for the budget and for the longest bar', () => {
  const quick = { answer: answered({ ms: 100 }), timed: undefined };
  assert.deepEqual([chart([quick], 300).scaleMs, chart([quick], 300).budgetMs], [300, 300]);
  const slow = { answer: answered({ ms: 285 }), timed: timed({ decodeMs: 900 }) };
  assert.equal(chart([slow], 300).scaleMs, 923);
});

test('a budget that is far off is left out, or the bars would be too short to see', () => {
  const quick = { answer: answered({ ms: 60 }), timed: undefined };
  assert.deepEqual([chart([quick], 300).scaleMs, chart([quick], 300).budgetMs], [60, undefined]);
});
