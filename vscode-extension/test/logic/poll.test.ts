import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Poll } from '../../src/logic/poll.ts';
import { Deferred } from './samples.ts';

/** Looks that are ended by hand. */
function looks(): { poll: Poll; begun: Deferred<boolean>[] } {
  const begun: Deferred<boolean>[] = [];
  const poll = new Poll(() => {
    const look = new Deferred<boolean>();
    begun.push(look);
    return look.promise;
  });
  return { poll, begun };
}

const ended = (): Promise<void> => new Promise(setImmediate);

test('a look that takes long meets no other', async ({ mock }) => {
  mock.timers.enable({ apis: ['setTimeout'] });
  const { poll, begun } = looks();
  poll.start(() => 100);
  mock.timers.tick(10_000);
  assert.equal(begun.length, 1);
  begun[0]?.resolve(false);
  await ended();
  mock.timers.tick(99);
  assert.equal(begun.length, 1);
  mock.timers.tick(1);
  assert.equal(begun.length, 2);
  poll.stop();
});

test('it ends when something is found, not by an error', async ({ mock }) => {
  mock.timers.enable({ apis: ['setTimeout'] });
  const { poll, begun } = looks();
  poll.start(() => 100);
  mock.timers.tick(100);
  begun[0]?.reject(new Error('no such folder'));
  await ended();
  mock.timers.tick(100);
  begun[1]?.resolve(true);
  await ended();
  mock.timers.tick(10_000);
  assert.equal(begun.length, 2);
});

test('stopped during a look it stays so, and started again it looks once each time', async ({ mock }) => {
  mock.timers.enable({ apis: ['setTimeout'] });
  const { poll, begun } = looks();
  poll.start(() => 100);
  mock.timers.tick(100);
  poll.stop();
  begun[0]?.resolve(false);
  await ended();
  mock.timers.tick(10_000);
  assert.equal(begun.length, 1);
  poll.start(() => 5_000);
  poll.start(() => 100);
  mock.timers.tick(100);
  assert.equal(begun.length, 2);
  poll.stop();
});
