/** What is done with requests for completions on their way, and with their answers. */

import * as vscode from 'vscode';
import type { Middleware } from 'vscode-languageclient/node';
import { disabledReason } from './logic/languages.ts';
import type { Offer, PartialAccepts } from './logic/partial.ts';
import { enabled, languages } from './settings.ts';
import type { State } from './state.ts';

/** The command of an item that was accepted; its argument is the item's key. */
const ACCEPTED = 'codeserve.accepted';

function offers(document: vscode.TextDocument, items: readonly vscode.InlineCompletionItem[]): Offer[] {
  return items.flatMap(({ command, insertText, range }) => {
    const key: unknown = command?.arguments?.[0];
    if (typeof key !== 'string' || typeof insertText !== 'string' || range === undefined) {
      return [];
    }
    // what the range covers stands in the document already
    const covered = document.getText(range);
    const text = insertText.startsWith(covered) ? insertText.slice(covered.length) : insertText;
    return [{ key, offset: document.offsetAt(range.end), text }];
  });
}

/** Whether a notebook's file is one of this machine, or none yet: the scheme of its cells does not tell. */
function here({ uri }: vscode.NotebookDocument): boolean {
  return uri.scheme === 'file' || uri.scheme === 'untitled';
}

export function middleware(state: State, partial: PartialAccepts): Middleware {
  return {
    async provideInlineCompletionItems(document, position, context, token, next) {
      if (disabledReason(enabled(), languages(), document.languageId) !== '') {
        return [];
      }
      const waiting = state.begin();
      try {
        const given = await next(document, position, context, token);
        const items = Array.isArray(given) ? given : (given?.items ?? []);
        if (!token.isCancellationRequested) {
          partial.offered(document.uri.toString(), offers(document, items));
        } // else what a newer request brought may be there already
        return given;
      } finally {
        waiting.end();
      }
    },
    notebooks: {
      didOpen: (notebook, cells, next) => (here(notebook) ? next(notebook, cells) : Promise.resolve()),
      didChange: (event, next) => (here(event.notebook) ? next(event) : Promise.resolve()),
    },
    executeCommand(command, args: unknown[], next) {
      if (command === ACCEPTED) {
        state.history.took(false);
      }
      return next(command, args) as Promise<unknown>;
    },
  };
}
