/** Waiting for a state, never for a time. */

import { setTimeout as sleep } from 'node:timers/promises';

/** What the time from one look to the next counts at most: the machine may have stood still. */
const STEP_MS = 1_000;

/** Look until `look` gives something true, and give that. Fails with `what` after `timeoutMs`. */
export async function until<T>(
  what: string,
  look: () => Promise<T> | T,
  timeoutMs = 20_000,
): Promise<Exclude<T, undefined | null | false | '' | 0>> {
  let waited = 0;
  for (let last = Date.now(); ;) {
    const value = await look();
    if (value) {
      return value as Exclude<T, undefined | null | false | '' | 0>;
    }
    const now = Date.now();
    waited += Math.min(now - last, STEP_MS);
    last = now;
    if (waited > timeoutMs) {
      throw new Error(`not within ${timeoutMs / 1000} s: ${what}`);
    }
    await sleep(50);
  }
}

/** Look until `look` gives `wanted`. Fails with what it gave last. */
export async function untilEqual<T>(what: string, look: () => Promise<T> | T, wanted: T): Promise<void> {
  let last: T | undefined;
  try {
    await until(what, async () => (last = await look()) === wanted);
  } catch {
    throw new Error(`${what}: ${JSON.stringify(last)}, and not ${JSON.stringify(wanted)}`);
  }
}
