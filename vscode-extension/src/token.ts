/** The token of each server, in VS Code's secret storage. */

import * as vscode from 'vscode';
import { shownUrl } from './logic/diagnostics.ts';
import { serverUrl } from './settings.ts';

/** A token belongs to the server that it was entered for: other settings do not carry it elsewhere. */
function key(url: string): string {
  return `token ${url}`;
}

export class Tokens {
  readonly onDidChange: vscode.Event<vscode.SecretStorageChangeEvent>;
  private readonly secrets: vscode.SecretStorage;

  constructor(secrets: vscode.SecretStorage) {
    this.secrets = secrets;
    this.onDidChange = secrets.onDidChange;
  }

  get(url: string): Thenable<string | undefined> {
    return this.secrets.get(key(url));
  }

  /** Ask for the token of the server in the settings; an empty one forgets it. */
  async enter(): Promise<void> {
    const url = serverUrl();
    const token = await vscode.window.showInputBox({
      title: `Token for ${shownUrl(url)}`,
      prompt: 'Kept in the secret storage of VS Code. Leave it empty to forget the one that is there.',
      password: true,
      ignoreFocusOut: true,
    });
    if (token === undefined) {
      return;
    }
    if (token.trim() === '') {
      await this.secrets.delete(key(url));
    } else {
      await this.secrets.store(key(url), token.trim());
    }
  }
}
