/** Messages of the language server, with what a test is about in place of what is usual. */

import type { Answered, ServerStatus, Timed } from '../../src/logic/messages.ts';

export function answered(given: Partial<Answered>): Answered {
  return { uri: 'file:///a.py', reason: 'stop', ms: 60, request: 'r', cached: false, items: 1, ...given };
}

export function timed(given: Partial<Timed>): Timed {
  const stages = { networkMs: 1, queueMs: 2, prefillMs: 20, decodeMs: 30 };
  return { request: 'r', ...stages, promptTokens: 100, cachedTokens: 90, outputTokens: 4, ...given };
}

export function status(state: string, reason = ''): ServerStatus {
  return { state, reason, url: 'ws://127.0.0.1:8760', model: 'mini' };
}

/** A promise that is settled by hand. */
export class Deferred<T> {
  resolve!: (value: T) => void;
  reject!: (error: Error) => void;
  readonly promise = new Promise<T>((resolve, reject) => {
    this.resolve = resolve;
    this.reject = reject;
  });
}
