import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Patience } from '../../src/logic/patience.ts';
import { Deferred } from './samples.ts';

/** A question that is answered by hand, and what was told of it. */
function question(): {
  patience: Patience<string>;
  told: string[];
  asked: Deferred<string>[];
} {
  const told: string[] = [];
  const asked: Deferred<string>[] = [];
  const ask = (): Promise<string> => {
    const one = new Deferred<string>();
    asked.push(one);
    return one.promise;
  };
  const patience = new Patience(ask, 1_000, {
    overdue: () => told.push('overdue'),
    late: () => told.push('late'),
  });
  return { patience, told, asked };
}

test('an answer in time is all there is to it', async ({ mock }) => {
  mock.timers.enable({ apis: ['setTimeout'] });
  const { patience, told, asked } = question();
  const answer = patience.get();
  mock.timers.tick(999);
  asked[0]?.resolve('python');
  assert.equal(await answer, 'python');
  mock.timers.tick(10_000);
  assert.deepEqual(told, []);
  assert.equal(patience.overdue, false);
});

test('an error is no answer', async () => {
  const { patience, told, asked } = question();
  const answer = patience.get();
  asked[0]?.reject(new Error('of another extension'));
  assert.equal(await answer, undefined);
  assert.deepEqual(told, []);
});

test('one that does not come is waited for so long only, and nobody waits again', async ({ mock }) => {
  mock.timers.enable({ apis: ['setTimeout'] });
  const { patience, told, asked } = question();
  const answer = patience.get();
  mock.timers.tick(1_000);
  assert.equal(await answer, undefined);
  assert.equal(patience.overdue, true);
  assert.equal(await patience.get(), undefined);
  assert.equal(asked.length, 1);
  assert.deepEqual(told, ['overdue']);
});

test('one that comes late is told of, and the next question has its own answer', async ({ mock }) => {
  mock.timers.enable({ apis: ['setTimeout'] });
  const { patience, told, asked } = question();
  const late = patience.get();
  mock.timers.tick(1_000);
  await late;
  asked[0]?.resolve('python');
  await new Promise(setImmediate);
  assert.deepEqual(told, ['overdue', 'late']);
  assert.equal(patience.overdue, false);
  const next = patience.get();
  asked[1]?.resolve('another python');
  assert.equal(await next, 'another python');
});
