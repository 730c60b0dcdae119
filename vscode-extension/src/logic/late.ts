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
  /** Whether the server has come to take requests since then. */
  private ready = false;
  private readonly looks = new Set<() => void>();

  private readonly history: History;
  private readonly waitMs: number;

  constructor(history: History, waitMs = LATE_MS) {
    this.history = history;
    this.waitMs = waitMs;
  }

  answered(answer: Answered): void {
    this.answer = answer;
    this.ready = false;
  }

  /** The server takes requests now. */
  becameReady(): void {
    this.ready = true;
    this.measured();
  }

  /** The history has more. */
  measured(): void {
    this.looks.forEach((look) => {
      look();
    });
  }

  /**
   * Where the last answer for a document came to its time with nothing to show, wait until the server is done with
   * its request; where the server took none, until it does; and no longer than is worth it. Gives whether to ask
   * again: not after any other answer, and not when nobody waits any more.
   */
  async worthAsking(uri: string, waiting: Cancellation): Promise<boolean> {
    const { answer } = this;
    if (answer?.uri !== uri || answer.items > 0) {
      return false;
    }
    switch (answer.reason) {
      case 'deadline':
        await this.wait(() => this.history.isOver(answer.request), waiting);
        return !waiting.isCancellationRequested; // if it is still not done, it is nearer to it
      case 'unavailable':
        await this.wait(() => this.ready, waiting);
        return !waiting.isCancellationRequested && this.ready;
      default:
        return false;
    }
  }

  private async wait(over: () => boolean, waiting: Cancellation): Promise<void> {
    let end = (): void => undefined;
    const look = (): void => {
      if (over()) {
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
  }
}
