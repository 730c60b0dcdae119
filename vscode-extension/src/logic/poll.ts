/** Looks again and again until it finds, one look at a time. */

export class Poll {
  private timer: NodeJS.Timeout | undefined;
  /** The timer is set, or its look is under way. */
  private run: object | undefined;

  private readonly look: () => Promise<boolean>;

  /** `look` says whether it has found; an error is none found. */
  constructor(look: () => Promise<boolean>) {
    this.look = look;
  }

  /** Look from now on, each time so long after the look before has ended. */
  start(everyMs: () => number): void {
    this.stop();
    const run = (this.run = {});
    const next = (): void => {
      this.timer = setTimeout(() => {
        void this.look()
          .catch(() => false)
          .then((found) => {
            if (this.run === run && !found) {
              next();
            }
          });
      }, everyMs());
    };
    next();
  }

  stop(): void {
    clearTimeout(this.timer);
    this.run = undefined;
  }
}
