import assert from 'node:assert/strict';
import { test } from 'node:test';
import { History } from '../../src/logic/history.ts';
import { Late } from '../../src/logic/late.ts';
import { answered, timed } from './samples.ts';

const URI = 'file:///a.py';
const OUT_OF_TIME = answered({ uri: URI, request: '1', reason: 'deadline', items: 0 });
/** Longer than any test. */
const LONG_MS = 1_000_000;

class Waiting {
  isCancellationRequested = false;
  private callback: (() => void) | undefined;

  onCancellationRequested(callback: () => void): { dispose(): void } {
    this.callback = callback;
    return { dispose: () => (this.callback = undefined) };
  }

  cancel(): void {
    this.isCancellationRequested = true;
    this.callback?.();
  }

  get watched(): boolean {
    return this.callback !== undefined;
  }
}

function late(answer = OUT_OF_TIME, waitMs = LONG_MS): { history: History; late: Late } {
  const history = new History();
  const waits = new Late(history, waitMs);
  history.answered(answer);
  waits.answered(answer);
  return { history, late: waits };
}

test('what came too late is asked for again once the server is done with it, not before', async () => {
  const { history, late: waits } = late();
  const waiting = new Waiting();
  let again: boolean | undefined;
  const worth = waits.worthAsking(URI, waiting).then((value) => (again = value));
  history.timed(timed({ request: 'another' }));
  waits.measured();
  await new Promise(setImmediate);
  assert.equal(again, undefined);
  history.timed(timed({ request: '1' }));
  waits.measured();
  assert.equal(await worth, true);
  assert.equal(waiting.watched, false);
});

test('what the server is done with already is asked for at once', async () => {
  const { history, late: waits } = late();
  history.timed(timed({ request: '1' }));
  assert.equal(await waits.worthAsking(URI, new Waiting()), true);
});

test('who types on or goes away waits no longer, and nothing is asked', async () => {
  const { late: waits } = late();
  const waiting = new Waiting();
  const worth = waits.worthAsking(URI, waiting);
  waiting.cancel();
  assert.equal(await worth, false);
});

test('of a server that says nothing more the last word is to ask again', async () => {
  const { late: waits } = late(OUT_OF_TIME, 1);
  assert.equal(await waits.worthAsking(URI, new Waiting()), true);
});

test('an answer with text, one for another reason and one for another document are not waited for', async () => {
  for (const answer of [
    { ...OUT_OF_TIME, items: 1 },
    { ...OUT_OF_TIME, reason: 'no_suggestion' },
    { ...OUT_OF_TIME, uri: 'file:///b.py' },
  ]) {
    assert.equal(await late(answer).late.worthAsking(URI, new Waiting()), false);
  }
  assert.equal(await new Late(new History()).worthAsking(URI, new Waiting()), false);
});

test('what found no server is asked for again when there is one soon, else not', async () => {
  const none = answered({ uri: URI, reason: 'unavailable', request: '', items: 0 });
  const { late: waits } = late(none);
  const worth = waits.worthAsking(URI, new Waiting());
  waits.becameReady();
  assert.equal(await worth, true);
  waits.answered(none);
  waits.becameReady(); // before the answer was seen
  assert.equal(await waits.worthAsking(URI, new Waiting()), true);
  assert.equal(await late(none, 1).late.worthAsking(URI, new Waiting()), false);
});
