/** Finds `codeserve-lsp` on this machine. */

import { access, constants, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import * as vscode from 'vscode';
import { type Candidate, candidates, firstRunnable } from './logic/finder.ts';
import { languageServerPath } from './settings.ts';

export const WINDOWS = process.platform === 'win32';

/** What is used of the API of the extension ms-python.python (its package `@vscode/python-extension`). */
interface PythonApi {
  readonly environments: {
    getActiveEnvironmentPath(resource?: vscode.Uri): { readonly path: string };
    resolveEnvironment(environment: {
      readonly path: string;
    }): Promise<{ readonly executable: { readonly uri: vscode.Uri | undefined } } | undefined>;
    readonly onDidChangeActiveEnvironmentPath: vscode.Event<unknown>;
  };
}

async function pythonApi(): Promise<PythonApi | undefined> {
  const extension = vscode.extensions.getExtension<Partial<PythonApi> | undefined>('ms-python.python');
  const api = await extension?.activate();
  // another extension may go by that name, in a fork of VS Code
  return typeof api?.environments?.getActiveEnvironmentPath === 'function' ? (api as PythonApi) : undefined;
}

/** The Python that the user has chosen, undefined without the Python extension. */
export async function chosenInterpreter(): Promise<string | undefined> {
  try {
    const environments = (await pythonApi())?.environments;
    const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
    const chosen = await environments?.resolveEnvironment(environments.getActiveEnvironmentPath(folder));
    return chosen?.executable.uri?.fsPath;
  } catch {
    return undefined; // trouble of the other extension must not be ours
  }
}

/** Calls back when the user chooses another Python. */
export async function onInterpreterChange(callback: () => void): Promise<vscode.Disposable> {
  const api = await pythonApi().catch(() => undefined);
  return (
    api?.environments.onDidChangeActiveEnvironmentPath(callback) ?? new vscode.Disposable(() => undefined)
  );
}

export async function runnable(file: string): Promise<boolean> {
  try {
    await access(file, constants.X_OK);
    return (await stat(file)).isFile(); // of a folder X_OK means that it can be entered
  } catch {
    return false;
  }
}

/** Whether the language server may be one of the chosen Python: else its extension need not start. */
export function interpreterCounts(): boolean {
  // it comes from the workspace: what that names is run only where the user trusts it
  return vscode.workspace.isTrusted && languageServerPath() === '';
}

/** The language server to run, undefined when there is none. */
export async function findLanguageServer(): Promise<Candidate | undefined> {
  const { isTrusted, workspaceFolders = [] } = vscode.workspace;
  const folders = workspaceFolders.filter(({ uri }) => uri.scheme === 'file').map(({ uri }) => uri.fsPath);
  const all = candidates({
    setting: languageServerPath(),
    interpreter: interpreterCounts() ? await chosenInterpreter() : undefined,
    folders: isTrusted ? folders : [],
    home: homedir(),
    path: process.env['PATH'] ?? '',
    windows: WINDOWS,
  });
  return firstRunnable(all, runnable);
}
