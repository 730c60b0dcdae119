/** What the user is told without having asked: little, and each thing once. */

import * as vscode from 'vscode';
import type { ServerStatus } from './logic/messages.ts';
import { type Process, withoutLinks } from './logic/status.ts';
import type { Tokens } from './token.ts';

const SHOW_LOG = ['Show Log', 'codeserve.showLog'] as const;
const RESTART = ['Restart', 'codeserve.restart'] as const;
/** With the path of `codeserve-lsp` in them nobody asks the Python extension. */
const SETTINGS = ['Open Settings', 'codeserve.openSettings'] as const;

/** Warn, with buttons that run commands. */
async function warn(message: string, commands: ReadonlyMap<string, string>): Promise<void> {
  const chosen = await vscode.window.showWarningMessage(message, ...commands.keys());
  const command = chosen && commands.get(chosen);
  if (command) {
    await vscode.commands.executeCommand(command);
  }
}

export class Notices {
  private told = '';
  private last: ServerStatus | undefined;
  private lastProcess: Process | undefined;
  private toldOfPython = false;

  private readonly tokens: Tokens;

  constructor(tokens: Tokens) {
    this.tokens = tokens;
  }

  /** Says that the language server hangs, each time. To be called with what it is at the moment. */
  process(process: Process): void {
    if (process === 'silent' && this.lastProcess !== 'silent') {
      void warn(
        'codeserve: the language server did not answer, and was ended.',
        new Map([SHOW_LOG, RESTART]),
      );
    }
    this.lastProcess = process;
  }

  /** Says that nothing was found, and that the Python extension hangs, which may know of something: once. */
  async pythonOverdue(): Promise<void> {
    if (!this.toldOfPython) {
      this.toldOfPython = true;
      await warn(
        'codeserve: the Python extension does not say which environment is chosen, and elsewhere codeserve-lsp was not found.',
        new Map([SHOW_LOG, SETTINGS]),
      );
    }
  }

  /**
   * Says that a token is wanted, once for each server until a connection has come about. To be called with the
   * status that holds; one that it has seen says nothing new.
   */
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
    const server = `codeserve: the server at ${withoutLinks(url)}`;
    const message = (await this.tokens.get(url))
      ? `${server} does not accept the token that is stored for it.`
      : `${server} asks for a token, and none is stored for it.`;
    await warn(message, new Map([['Set Token', 'codeserve.setToken']]));
  }
}
