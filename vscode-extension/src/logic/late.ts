/** Waits for what came too late for its answer: who asked by hand presses no further key that would bring it. */

import type { History } from './history.ts';
import type { Answered } from './messages.ts';

/** After the answer. The language server lets the server go on for less than this. */
const LATE_MS = 2_000;

/** As VS Code's tokens have it. */
export interface Cancellation {
  readonly isCancellationRequested: boolean;
  onCancellationRequested(callback: () => void): { dispose(): void };
}

export class Late {
  /** The last one, whatever became of it. */
  private answer: Answered | undefined;
  private readonly looks = new Set<() => void>();

  private readonly history: History;
  private readonly waitMs: number;

  constructor(history: History, waitMs = LATE_MS) {
    this.history = history;
    this.waitMs = waitMs;
  }

  answered(answer: Answered): void {
    this.answer = answer;
  }

  /** The history has more. */
  measured(): void {
    this.looks.forEach((look) => {
      look();
    });
  }

  /**
   * Where the last answer for a document came to its time with nothing to show, wait until the server is done with
   * its request, and no longer than is worth it. Gives whether to ask again: not after any other answer, and not
   * when nobody waits any more.
   */
  async worthAsking(uri: string, waiting: Cancellation): Promise<boolean> {
    const { answer, history } = this;
    if (answer?.uri !== uri || answer.reason !== 'deadline' || answer.items > 0) {
      return false;
    }
    let end = (): void => undefined;
    const look = (): void => {
      if (history.isOver(answer.request)) {
        end();
      }
    };
    const timer = setTimeout(() => {
      end();
    }, this.waitMs);
    const cancelled = waiting.onCancellationRequested(() => {
      end();
    });
    this.looks.add(look);
    await new Promise<void>((resolve) => {
      end = resolve;
      look(); // it may be over already
    });
    this.looks.delete(look);
    cancelled.dispose();
    clearTimeout(timer);
    return !waiting.isCancellationRequested;
  }
}
