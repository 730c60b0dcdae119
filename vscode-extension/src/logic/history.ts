/** The last answers, and where the time of each went. Kept in memory only, for as long as the window lives. */

import type { Answered, Timed } from './messages.ts';

/** Answers that the statistics and the latency view go over. */
export const KEPT = 100;

export interface Entry {
  readonly answer: Answered;
  /** Undefined until the server is done with the request; it never is for some. */
  readonly timed: Timed | undefined;
}

/** Answers that say nothing of how fast things are: the user typed on, or nothing was asked. */
const NO_ANSWER: ReadonlySet<string> = new Set([
  'superseded',
  'cancelled',
  'disabled_here',
  'unknown_document',
  'not_here',
  'unavailable',
]);

export class History {
  private answers: { readonly answer: Answered; readonly name: string }[] = [];
  private readonly timings = new Map<string, Timed>();
  /** Requests whose suggestions were returned: only the last, which later answers may come from. */
  private readonly sources = new Set<string>();
  private connection = 0;
  private returned = 0;
  private accepted = 0;
  private partly = 0;

  /** Note an answer. False when it is none that counts. */
  answered(answer: Answered): boolean {
    if (NO_ANSWER.has(answer.reason)) {
      return false;
    }
    const name = this.name(answer.request);
    this.answers.push({ answer, name });
    if (this.answers.length > KEPT) {
      this.answers = this.answers.slice(-KEPT);
    }
    if (answer.items > 0 && answer.request !== '' && !this.sources.has(name)) {
      this.returned++;
      this.sources.add(name);
      keepLast(this.sources);
    }
    return true;
  }

  /** Note where the time of a request went. */
  timed(timed: Timed): void {
    this.timings.set(this.name(timed.request), timed);
    keepLast(this.timings);
  }

  /** Whether the server is done with a request. */
  isOver(request: string): boolean {
    return this.timings.has(this.name(request));
  }

  /** A suggestion was accepted, whole or (`part`) a word or a line of it. */
  took(part: boolean): void {
    if (part) {
      this.partly++;
    } else {
      this.accepted++;
    }
  }

  /** The last answers, oldest first. */
  entries(): Entry[] {
    return this.answers.map(({ answer, name }) => ({ answer, timed: this.timings.get(name) }));
  }

  /** Suggestions returned to the editor since the window opened, and what became of them. */
  counts(): { returned: number; accepted: number; partly: number } {
    // one that is taken back and taken again was returned again, from the cache
    const returned = Math.max(this.returned, this.accepted);
    return { returned, accepted: this.accepted, partly: this.partly };
  }

  /** There is another connection: requests are numbered anew on it. */
  connected(): void {
    this.connection++;
  }

  /** A request's name, one that no request of an earlier connection has. */
  private name(request: string): string {
    return `${this.connection} ${request}`;
  }
}

/** Drop the oldest of what answers may still refer to. */
function keepLast(names: Map<string, unknown> | Set<string>): void {
  for (const oldest of names.keys()) {
    if (names.size <= 2 * KEPT) {
      break;
    }
    names.delete(oldest);
  }
}
