/** The token of each server, in VS Code's secret storage. */

import * as vscode from 'vscode';
import { shownUrl } from './logic/diagnostics.ts';
import { formerKeys, tokenKey } from './logic/tokenKey.ts';
import { serverUrl } from './settings.ts';

/** A token belongs to the server that it was entered for: other settings do not carry it elsewhere. */
export class Tokens {
  private readonly secrets: vscode.SecretStorage;
  private readonly log: vscode.LogOutputChannel;

  constructor(secrets: vscode.SecretStorage, log: vscode.LogOutputChannel) {
    this.secrets = secrets;
    this.log = log;
  }

  /** The token of a server; undefined also where the storage cannot be read, as with a keyring that is locked. */
  async get(url: string): Promise<string | undefined> {
    try {
      return (await this.secrets.get(tokenKey(url))) ?? (await this.moved(url));
    } catch (error) {
      this.log.warn(`The secret storage cannot be read: ${String(error)}`);
      return undefined;
    }
  }

  /** Calls back when the token of the server in the settings was stored or deleted, in any window. */
  onDidChange(callback: () => void): vscode.Disposable {
    return this.secrets.onDidChange((event) => {
      if (event.key === tokenKey(serverUrl())) {
        callback();
      }
    });
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
      for (const key of [tokenKey(url), ...formerKeys(url)]) {
        await this.secrets.delete(key);
      }
    } else {
      await this.secrets.store(tokenKey(url), token.trim());
    }
  }

  /** The token by the name that it once had; it has the present one from then on. */
  private async moved(url: string): Promise<string | undefined> {
    for (const former of formerKeys(url)) {
      const token = await this.secrets.get(former);
      if (token !== undefined) {
        await this.secrets.store(tokenKey(url), token);
        await this.secrets.delete(former);
        return token;
      }
    }
    return undefined;
  }
}
