import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Offer } from '../../src/logic/offer.ts';
import { Deferred } from './samples.ts';

const found = (): Promise<boolean> => Promise.resolve(true);
const nothing = (): Promise<boolean> => Promise.resolve(false);

test('it is made once', async () => {
  const offer = new Offer(0);
  assert.equal(await offer.due(found), true);
  assert.equal(await offer.due(found), false);
});

test('where nothing was found it is made later, and in between nobody looks', async () => {
  let now = 0;
  const offer = new Offer(1_000, () => now);
  assert.equal(await offer.due(nothing), false);
  now = 999;
  assert.equal(await offer.due(() => assert.fail('it looks')), false);
  now = 1_000;
  assert.equal(await offer.due(found), true);
});

test('there is one look at a time', async () => {
  const offer = new Offer(0);
  const look = new Deferred<boolean>();
  const due = offer.due(() => look.promise);
  assert.equal(await offer.due(() => assert.fail('it looks')), false);
  look.resolve(true);
  assert.equal(await due, true);
});

test('an error of a look does not keep it from the next', async () => {
  const offer = new Offer(0);
  await assert.rejects(offer.due(() => Promise.reject(new Error('no'))));
  assert.equal(await offer.due(found), true);
});

test('what has become needless is not offered, also during a look', async () => {
  const offer = new Offer(0);
  const look = new Deferred<boolean>();
  const due = offer.due(() => look.promise);
  offer.settle();
  look.resolve(true);
  assert.equal(await due, false);
  assert.equal(await offer.due(found), false);
});
