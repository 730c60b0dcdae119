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
  'unavailable',
]);

export class History {
  private answers: Answered[] = [];
  private readonly timings = new Map<string, Timed>();
  private readonly returnedRequests = new Set<string>();
  private accepted = 0;
  private partly = 0;

  /** Note an answer. False when it is none that counts. */
  answered(answer: Answered): boolean {
    if (NO_ANSWER.has(answer.reason)) {
      return false;
    }
    this.answers.push(answer);
    if (this.answers.length > KEPT) {
      this.answers = this.answers.slice(-KEPT);
    }
    if (answer.items > 0 && answer.request !== '') {
      this.returnedRequests.add(answer.request);
    }
    return true;
  }

  /** Note where the time of a request went. */
  timed(timed: Timed): void {
    this.timings.set(timed.request, timed);
    for (const oldest of this.timings.keys()) {
      if (this.timings.size <= 2 * KEPT) {
        break;
      }
      this.timings.delete(oldest);
    }
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
    return this.answers.map((answer) => ({ answer, timed: this.timings.get(answer.request) }));
  }

  /** Suggestions returned to the editor since the window opened, and what became of them. */
  counts(): { returned: number; accepted: number; partly: number } {
    return { returned: this.returnedRequests.size, accepted: this.accepted, partly: this.partly };
  }

  /** Forget everything, as when another language server starts and names its requests anew. */
  clear(): void {
    this.answers = [];
    this.timings.clear();
    this.returnedRequests.clear();
    this.accepted = 0;
    this.partly = 0;
  }
}
