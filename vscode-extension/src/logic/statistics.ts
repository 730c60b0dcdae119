/** The figures of the status tooltip. */

import type { History } from './history.ts';

export interface Statistics {
  /** Answers that the percentiles are of, 100 at most. */
  readonly answers: number;
  /** Milliseconds, undefined without an answer. */
  readonly p50: number | undefined;
  readonly p95: number | undefined;
  /** Answers that needed no request of their own. */
  readonly cacheHits: number;
  readonly returned: number;
  readonly accepted: number;
  readonly partly: number;
}

/**
 * The nearest-rank percentile: the smallest value that at least `percent` % of all values do not exceed.
 *
 * @param percent more than 0, at most 100
 */
export function percentile(values: readonly number[], percent: number): number | undefined {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.ceil((percent / 100) * sorted.length) - 1];
}

export function statistics(history: History): Statistics {
  const answers = history.entries().map((entry) => entry.answer);
  const times = answers.map((answer) => answer.ms);
  return {
    answers: answers.length,
    p50: percentile(times, 50),
    p95: percentile(times, 95),
    cacheHits: answers.filter((answer) => answer.cached).length,
    ...history.counts(),
  };
}

function share(part: number, whole: number): string {
  return `${Math.round((100 * part) / whole)} %`;
}

/** The statistics in lines for people; none before the first answer. */
export function statisticsLines(figures: Statistics): string[] {
  const { answers, p50, p95, cacheHits, returned, accepted, partly } = figures;
  if (p50 === undefined || p95 === undefined) {
    return ['No answers yet'];
  }
  const lines = [
    `Last ${answers} answers: p50 ${Math.round(p50)} ms, p95 ${Math.round(p95)} ms`,
    `Cache hits: ${share(cacheHits, answers)}`,
  ];
  if (returned > 0) {
    const words = partly > 0 ? `, and ${partly} times a word or a line` : '';
    lines.push(
      `Accepted: ${accepted} of ${returned} suggestions returned (${share(accepted, returned)})${words}`,
    );
  }
  return lines;
}
