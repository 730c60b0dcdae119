/**
 * Notices that a word or a line of a suggestion was accepted.
 *
 * VS Code tells this only to its own extensions. What any extension sees is a change of the document: one that
 * puts in, at once, the next piece of a text that was just suggested there. A piece of one character, or of white
 * space as Enter and Tab put in, cannot be told from typing and is not counted; nor is the whole text, whose acceptance VS Code tells, nor the entry of the
 * IntelliSense popup that a suggestion goes on from: that is VS Code's own.
 */

export interface Offer {
  /** The argument of the item's command, by which the language server knows it. */
  readonly key: string;
  /** Where it starts, in UTF-16 units from the start of the document. */
  readonly offset: number;
  /** With the document's line ends. */
  readonly text: string;
}

/** What the popup would put in by the entry that is picked in it. */
export interface Pick {
  readonly offset: number;
  readonly text: string;
}

export interface Change {
  readonly offset: number;
  /** Length of what it takes out. */
  readonly removed: number;
  readonly text: string;
}

export interface Piece {
  readonly key: string;
  /** UTF-16 units. */
  readonly length: number;
}

/** What an editor puts in by itself when the first half is typed. */
const PAIRS: ReadonlySet<string> = new Set(['()', '[]', '{}', '<>', '""', "''", '``']);

interface Document {
  readonly offers: readonly Offer[];
  /** How much of the offers' text stands in the document by now. */
  taken: number;
}

export class PartialAccepts {
  private readonly documents = new Map<string, Document>();
  private readonly picks = new Map<string, Pick>();

  /** These are suggested in a document now, in place of what was before. */
  offered(uri: string, offers: readonly Offer[]): void {
    if (offers.length === 0) {
      this.documents.delete(uri);
    } else {
      this.documents.set(uri, { offers, taken: 0 });
    }
  }

  /** This is picked in the popup over a document now, undefined when none is open. */
  picked(uri: string, pick: Pick | undefined): void {
    if (pick === undefined) {
      this.picks.delete(uri);
    } else {
      this.picks.set(uri, pick);
    }
  }

  /** The document is closed. */
  closed(uri: string): void {
    this.documents.delete(uri);
    this.picks.delete(uri);
  }

  /** The document has changed: the piece that was accepted by it, if one was. */
  changed(uri: string, changes: readonly Change[], undo: boolean): Piece | undefined {
    const document = this.documents.get(uri);
    const [change, ...more] = changes;
    if (document === undefined || change === undefined) {
      return undefined;
    }
    const offer = document.offers.find(
      ({ offset, text }) =>
        change.offset === offset + document.taken && text.startsWith(change.text, document.taken),
    );
    if (offer === undefined || more.length > 0 || change.removed > 0 || change.text === '' || undo) {
      this.documents.delete(uri);
      return undefined;
    }
    document.taken += change.text.length;
    const whole = document.taken === offer.text.length;
    const pick = this.picks.get(uri);
    this.picks.delete(uri); // it was for the text before
    if (pick?.offset === change.offset && pick.text === change.text) {
      return undefined;
    }
    if (whole || change.text.length < 2 || change.text.trim() === '' || PAIRS.has(change.text)) {
      return undefined;
    }
    return { key: offer.key, length: change.text.length };
  }
}
