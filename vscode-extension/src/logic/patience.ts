/** Asks something that may take for ever, and waits for it only so long. */

export interface Told {
  /** An answer has not come in time. */
  readonly overdue: () => void;
  /** It has come after all: who asks again gets one. */
  readonly late: () => void;
}

export class Patience<T> {
  private waiting = 0;

  private readonly ask: () => Promise<T>;
  private readonly limitMs: number;
  private readonly told: Told;

  constructor(ask: () => Promise<T>, limitMs: number, told: Told) {
    this.ask = ask;
    this.limitMs = limitMs;
    this.told = told;
  }

  /** Whether an answer has not come in time and still has not. */
  get overdue(): boolean {
    return this.waiting > 0;
  }

  /** The answer; undefined when it does not come in time, and when it is an error. While one is overdue none is asked for. */
  get(): Promise<T | undefined> {
    if (this.overdue) {
      return Promise.resolve(undefined);
    }
    return new Promise((resolve) => {
      let inTime = true;
      const timer = setTimeout(() => {
        inTime = false;
        this.waiting++;
        this.told.overdue();
        resolve(undefined);
      }, this.limitMs);
      const answered = (answer: T | undefined): void => {
        clearTimeout(timer);
        resolve(answer);
        if (!inTime) {
          this.waiting--;
          this.told.late();
        }
      };
      this.ask().then(answered, () => {
        answered(undefined);
      });
    });
  }
}
