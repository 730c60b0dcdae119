/** What the user is told without having asked: little, and each thing once. */

import * as vscode from 'vscode';
import type { ServerStatus } from './logic/messages.ts';
import { withoutLinks } from './logic/status.ts';

/** Says that a token is wanted, once for each server until a connection has come about. */
export class Notices {
  private told = '';
  private last: ServerStatus | undefined;

  /** To be called with the status that holds; one that it has seen says nothing new. */
  status(status: ServerStatus): void {
    if (status === this.last) {
      return;
    }
    this.last = status;
    const { state, url } = status;
    if (state === 'ready') {
      this.told = '';
    } else if (state === 'unauthorized' && this.told !== url) {
      this.told = url;
      void this.askForToken(url);
    }
  }

  /** The user does something about it: if that does not help, say so again. */
  forget(): void {
    this.told = '';
  }

  private async askForToken(url: string): Promise<void> {
    const set = 'Set Token';
    const message = `codeserve: the server at ${withoutLinks(url)} does not accept the token.`;
    if ((await vscode.window.showWarningMessage(message, set)) === set) {
      await vscode.commands.executeCommand('codeserve.setToken');
    }
  }
}
