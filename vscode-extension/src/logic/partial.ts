/**
 * Notices that a word or a line of a suggestion was accepted.
 *
 * VS Code tells this only to its own extensions. What any extension sees is a change of the document: one that
 * puts in, at once, the next piece of a text that was just suggested there. A piece of one character cannot be
 * told from typing and is not counted; nor is the whole text, whose acceptance VS Code tells.
 */

export interface Offer {
  /** The argument of the item's command, by which the language server knows it. */
  readonly key: string;
  /** Where it starts, in UTF-16 units from the start of the document. */
  readonly offset: number;
  /** With the document's line ends. */
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

  /** These are suggested in a document now, in place of what was before. */
  offered(uri: string, offers: readonly Offer[]): void {
    if (offers.length === 0) {
      this.documents.delete(uri);
    } else {
      this.documents.set(uri, { offers, taken: 0 });
    }
  }

  /** The document is closed. */
  closed(uri: string): void {
    this.documents.delete(uri);
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
    if (whole || change.text.length < 2 || PAIRS.has(change.text)) {
      return undefined;
    }
    return { key: offer.key, length: change.text.length };
  }
}
