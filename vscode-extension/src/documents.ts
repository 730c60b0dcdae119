/** Which documents are completed. */

import * as vscode from 'vscode';

const CELL = 'vscode-notebook-cell';

/** Only documents whose files the language server can see: `.codeserveignore` and the like count for them. */
export const DOCUMENTS: { readonly scheme: string }[] = [
  { scheme: 'file' },
  { scheme: 'untitled' },
  { scheme: CELL },
];

/** Whether a notebook's file is one of this machine, or none yet: the scheme of its cells does not tell. */
export function notebookServed({ uri }: vscode.NotebookDocument): boolean {
  return uri.scheme === 'file' || uri.scheme === 'untitled';
}

/** Whether the language server is told of a document. */
export function served(document: vscode.TextDocument): boolean {
  if (vscode.languages.match(DOCUMENTS, document) === 0) {
    return false;
  }
  const notebook =
    document.uri.scheme === CELL
      ? vscode.workspace.notebookDocuments.find((each) =>
          each.getCells().some((cell) => cell.document === document),
        )
      : undefined;
  return notebook === undefined || notebookServed(notebook);
}
