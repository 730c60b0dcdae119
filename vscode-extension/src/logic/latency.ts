/** What the latency view draws: a bar of stages for each answer. Pure, so that it can be tested without a webview. */

import type { Entry } from './history.ts';

export const STAGES = ['language server', 'network', 'queue', 'prefill', 'decode'] as const;
export type Stage = (typeof STAGES)[number];

export interface Bar {
  /** Milliseconds of each stage, in the order of `STAGES`. */
  readonly stages: readonly { readonly stage: Stage; readonly ms: number }[];
  /** When the answer went out. Stages beyond it are work that went on, for the next keystroke. */
  readonly answeredMs: number;
  /** A line for people. */
  readonly note: string;
}

export interface Chart {
  readonly bars: readonly Bar[];
  /** The right end of the scale. */
  readonly scaleMs: number;
  /** Undefined where it is so far off that the bars would shrink to nothing. */
  readonly budgetMs: number | undefined;
}

/** Bars in the view, newest first. */
export const SHOWN = 40;

/** What is shown of the ways in which an answer ends; an ordinary end needs no words. */
const NOTES: ReadonlyMap<string, string> = new Map([
  ['stop', ''],
  ['length', ''],
  ['deadline', 'stopped waiting at the budget'],
  ['no_suggestion', 'nothing worth showing'],
  ['overloaded', 'the server is busy'],
  ['internal', 'failed; the log says more'],
]);

function note({ answer, timed }: Entry): string {
  const words = [answer.cached ? 'from the cache' : (NOTES.get(answer.reason) ?? answer.reason)];
  if (timed !== undefined && !answer.cached) {
    words.push(`${timed.promptTokens} tokens in (${timed.cachedTokens} cached), ${timed.outputTokens} out`);
  }
  return words.filter((each) => each !== '').join(', ');
}

/**
 * One answer as a bar. From the cache, or while the server still works on it, all its time is the language
 * server's own; else that is what the other stages leave of it.
 */
export function bar(entry: Entry): Bar {
  const { answer, timed } = entry;
  const known = timed !== undefined && !answer.cached;
  const server: [Stage, number][] = known
    ? [
        ['network', timed.networkMs],
        ['queue', timed.queueMs],
        ['prefill', timed.prefillMs],
        ['decode', timed.decodeMs],
      ]
    : [];
  const elsewhere = server.reduce((sum, [, ms]) => sum + ms, 0);
  const own: [Stage, number] = ['language server', Math.max(0, answer.ms - elsewhere)];
  return {
    stages: [own, ...server].map(([stage, ms]) => ({ stage, ms })),
    answeredMs: answer.ms,
    note: note(entry),
  };
}

/** A budget that is more than so many times the longest bar is left out. */
const FAR = 4;

/** The newest answers, and a scale on which all of them have room. */
export function chart(entries: readonly Entry[], budgetMs: number): Chart {
  const bars = entries.slice(-SHOWN).reverse().map(bar);
  const lengths = bars.map((each) =>
    Math.max(
      each.answeredMs,
      each.stages.reduce((sum, { ms }) => sum + ms, 0),
    ),
  );
  const longest = Math.max(1, ...lengths);
  const near = budgetMs <= FAR * longest;
  return {
    bars,
    scaleMs: near ? Math.max(budgetMs, longest) : longest,
    budgetMs: near ? budgetMs : undefined,
  };
}
