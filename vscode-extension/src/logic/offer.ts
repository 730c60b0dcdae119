/** When to look for something that is offered once: one look at a time, and not too often. */

export class Offer {
  private made = false;
  private looking = false;
  private looked = Number.NEGATIVE_INFINITY;

  private readonly everyMs: number;
  private readonly now: () => number;

  constructor(everyMs: number, now: () => number = Date.now) {
    this.everyMs = everyMs;
    this.now = now;
  }

  /** Whether to make the offer now: it has not been made, and `look` finds what it is about. */
  async due(look: () => Promise<boolean>): Promise<boolean> {
    if (this.made || this.looking || this.now() - this.looked < this.everyMs) {
      return false;
    }
    this.looking = true;
    try {
      return (await look()) && this.take();
    } finally {
      this.looking = false;
      this.looked = this.now();
    }
  }

  /** It need not be made any more. */
  settle(): void {
    this.made = true;
  }

  /** False where it has become needless during the look. */
  private take(): boolean {
    const due = !this.made;
    this.made = true;
    return due;
  }
}
