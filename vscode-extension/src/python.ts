/** The Python that the user has chosen in the Python extension. */

import * as vscode from 'vscode';
import { Patience } from './logic/patience.ts';

/** It may start an interpreter to know, and it may hang: then `codeserve-lsp` is looked for elsewhere. */
const LIMIT_MS = 10_000;

/** What is used of the API of the extension ms-python.python (its package `@vscode/python-extension`). */
interface Environments {
  getActiveEnvironmentPath(resource?: vscode.Uri): { readonly path: string };
  resolveEnvironment(environment: {
    readonly path: string;
  }): Promise<{ readonly executable: { readonly uri: vscode.Uri | undefined } } | undefined>;
  readonly onDidChangeActiveEnvironmentPath: vscode.Event<unknown>;
}

// another extension may go by that name, in a fork of VS Code
type PythonApi = { readonly environments?: Partial<Environments> } | undefined;

export class ChosenPython implements vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<void>();
  private readonly patience: Patience<string | undefined>;
  private watching: vscode.Disposable | undefined;

  /** The user has chosen another one, or the Python extension says at last which one it is. */
  readonly onDidChange = this.changed.event;

  constructor(log: vscode.LogOutputChannel) {
    this.patience = new Patience(() => this.ask(), LIMIT_MS, {
      overdue: () => {
        log.warn(`The Python extension did not say within ${LIMIT_MS / 1000} s which environment is chosen`);
      },
      late: () => {
        log.info('The Python extension has answered at last');
        this.changed.fire();
      },
    });
  }

  /** Whether the Python extension was asked, and has not answered for too long. */
  get overdue(): boolean {
    return this.patience.overdue;
  }

  /** The interpreter's file; undefined without the Python extension, and where that is in trouble. */
  path(): Promise<string | undefined> {
    return this.patience.get();
  }

  dispose(): void {
    this.watching?.dispose();
    this.changed.dispose();
  }

  private async ask(): Promise<string | undefined> {
    const extension = vscode.extensions.getExtension<PythonApi>('ms-python.python');
    const environments = (await extension?.activate())?.environments;
    this.watching ??= environments?.onDidChangeActiveEnvironmentPath?.(() => {
      this.changed.fire();
    });
    const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
    const path = environments?.getActiveEnvironmentPath?.(folder);
    const chosen = path && (await environments?.resolveEnvironment?.(path));
    return chosen?.executable.uri?.fsPath;
  }
}
