/** Finds `codeserve-lsp` on this machine. */

import { access, constants, open, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import * as vscode from 'vscode';
import { type Candidate, candidates, firstRunnable, interpreterOf } from './logic/finder.ts';
import type { ChosenPython } from './python.ts';
import { languageServerPath } from './settings.ts';

export const WINDOWS = process.platform === 'win32';

/** Looks for the language server to run; undefined when there is none. */
export type Find = () => Promise<Candidate | undefined>;

/** As much of a file as holds the interpreter's path, which Linux limits to 4,096 bytes. */
const HEAD_BYTES = 5_000;

async function headOf(file: string): Promise<string> {
  const opened = await open(file);
  try {
    const { buffer, bytesRead } = await opened.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0);
    return buffer.toString('utf8', 0, bytesRead);
  } finally {
    await opened.close();
  }
}

/** Whether it is a program; one of a Python that is gone, or was replaced by another version, is none. */
export async function runnable(file: string): Promise<boolean> {
  try {
    await access(file, constants.X_OK);
    if (!(await stat(file)).isFile()) {
      return false; // of a folder X_OK means that it can be entered
    }
    const interpreter = WINDOWS ? undefined : interpreterOf(await headOf(file).catch(() => '')); // not everything may be read
    if (interpreter !== undefined) {
      await access(interpreter, constants.X_OK);
    }
    return true;
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
