/** What is done with requests for completions on their way, and with their answers. */

import * as vscode from 'vscode';
import type { Middleware } from 'vscode-languageclient/node';
import { notebookServed } from './documents.ts';
import { disabledReason } from './logic/languages.ts';
import type { Offer, PartialAccepts, Pick } from './logic/partial.ts';
import { enabled, languages } from './settings.ts';
import type { State } from './state.ts';

/** The command of an item that was accepted; its argument is the item's key. */
const ACCEPTED = 'codeserve.accepted';

type Given = vscode.InlineCompletionList | vscode.InlineCompletionItem[] | null | undefined;

function itemsOf(given: Given): readonly vscode.InlineCompletionItem[] {
  return Array.isArray(given) ? given : (given?.items ?? []);
}

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

/** What the IntelliSense popup would put in, undefined when it is not open or would put in something else. */
function pick(document: vscode.TextDocument, context: vscode.InlineCompletionContext): Pick | undefined {
  const info = context.selectedCompletionInfo;
  const covered = info && document.getText(info.range);
  if (info === undefined || covered === undefined || !info.text.startsWith(covered)) {
    return undefined;
  }
  return { offset: document.offsetAt(info.range.end), text: info.text.slice(covered.length) };
}

export function middleware(state: State, partial: PartialAccepts): Middleware {
  return {
    async provideInlineCompletionItems(document, position, context, token, next) {
      if (disabledReason(enabled(), languages(), document.languageId) !== '') {
        return [];
      }
      const uri = document.uri.toString();
      partial.picked(uri, pick(document, context));
      const waiting = state.begin();
      try {
        let given = await next(document, position, context, token);
        const byHand = context.triggerKind === vscode.InlineCompletionTriggerKind.Invoke;
        if (byHand && itemsOf(given).length === 0 && (await state.late.worthAsking(uri, token))) {
          // no further key will bring what was late: the user waits for it, and it is there now
          given = await next(document, position, context, token);
        }
        const items = itemsOf(given);
        if (!token.isCancellationRequested) {
          partial.offered(uri, offers(document, items));
        } // else what a newer request brought may be there already
        return given;
      } finally {
        waiting.end();
      }
    },
    notebooks: {
      didOpen: (notebook, cells, next) =>
        notebookServed(notebook) ? next(notebook, cells) : Promise.resolve(),
      didChange: (event, next) => (notebookServed(event.notebook) ? next(event) : Promise.resolve()),
    },
    executeCommand(command, args: unknown[], next) {
      if (command === ACCEPTED) {
        state.took(false);
      }
      return next(command, args) as Promise<unknown>;
    },
  };
}
