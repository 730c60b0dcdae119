import assert from 'node:assert/strict';
import { test } from 'node:test';
import { within } from '../../src/logic/within.ts';

/** Longer than any test. */
const LONG_MS = 1_000_000;

test('what comes in time comes, an error too', async () => {
  assert.equal(await within(LONG_MS, Promise.resolve('here')), 'here');
  await assert.rejects(within(LONG_MS, Promise.reject(new Error('broken'))), /broken/);
});

test('what does not come in time is waited for no longer', async () => {
  assert.equal(await within(1, new Promise<string>(() => undefined)), undefined);
});
