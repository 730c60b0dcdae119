/** Finds `codeserve-lsp` on this machine. */

import { access, constants, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import * as vscode from 'vscode';
import { type Candidate, candidates, firstRunnable } from './logic/finder.ts';
import type { ChosenPython } from './python.ts';
import { languageServerPath } from './settings.ts';

export const WINDOWS = process.platform === 'win32';

/** Looks for the language server to run; undefined when there is none. */
export type Find = () => Promise<Candidate | undefined>;

export async function runnable(file: string): Promise<boolean> {
  try {
    await access(file, constants.X_OK);
    return (await stat(file)).isFile(); // of a folder X_OK means that it can be entered
  } catch {
    return false;
  }
}

/** Whether the language server may be one of the chosen Python: else its extension need not start. */
function interpreterCounts(): boolean {
  // it comes from the workspace: what that names is run only where the user trusts it
  return vscode.workspace.isTrusted && languageServerPath() === '';
}

export async function findLanguageServer(python: ChosenPython): Promise<Candidate | undefined> {
  const { isTrusted, workspaceFolders = [] } = vscode.workspace;
  const folders = workspaceFolders.filter(({ uri }) => uri.scheme === 'file').map(({ uri }) => uri.fsPath);
  const all = candidates({
    setting: languageServerPath(),
    interpreter: interpreterCounts() ? await python.path() : undefined,
    folders: isTrusted ? folders : [],
    home: homedir(),
    path: process.env['PATH'] ?? '',
    windows: WINDOWS,
  });
  return firstRunnable(all, runnable);
}
