/** Tells the language server of what it cannot see: where the cursor is, and that a part was accepted. */

import * as vscode from 'vscode';
import type { Client } from './client.ts';
import { served } from './documents.ts';
import type { PartialAccepts } from './logic/partial.ts';
import type { State } from './state.ts';

export function watchEditors(client: Client, partial: PartialAccepts, state: State): vscode.Disposable {
  return vscode.Disposable.from(
    vscode.window.onDidChangeTextEditorSelection(({ textEditor, selections }) => {
      const [selection] = selections;
      if (selection?.isEmpty === true && served(textEditor.document)) {
        const { line, character } = selection.active;
        client.notify('codeserve/didMoveCursor', {
          textDocument: { uri: textEditor.document.uri.toString() },
          position: { line, character },
        });
      }
    }),
    vscode.workspace.onDidChangeTextDocument(({ document, contentChanges, reason }) => {
      if (contentChanges.length === 0) {
        return; // saved, or made dirty
      }
      const changes = contentChanges.map(({ rangeOffset, rangeLength, text }) => ({
        offset: rangeOffset,
        removed: rangeLength,
        text,
      }));
      const piece = partial.changed(document.uri.toString(), changes, reason !== undefined);
      if (piece !== undefined) {
        state.took(true);
        client.notify('textDocument/didPartiallyAcceptCompletion', {
          item: { command: { arguments: [piece.key] } },
          acceptedLength: piece.length,
        });
      }
    }),
    vscode.workspace.onDidCloseTextDocument((document) => {
      partial.closed(document.uri.toString());
    }),
  );
}
