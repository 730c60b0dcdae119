/** Waiting for a state, never for a time. */

import { setTimeout as sleep } from 'node:timers/promises';

/** Look until `what` gives something true, and give that. Fails with what was seen last. */
export async function until<T>(
  what: string,
  look: () => Promise<T> | T,
  timeoutMs = 20_000,
): Promise<Exclude<T, undefined | null | false | '' | 0>> {
  const end = Date.now() + timeoutMs;
  for (;;) {
    const value = await look();
    if (value) {
      return value as Exclude<T, undefined | null | false | '' | 0>;
    }
    if (Date.now() > end) {
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
