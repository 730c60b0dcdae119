/** The walkthrough, whose steps are ticked by what is done. */

import * as vscode from 'vscode';
import type { State } from './state.ts';

export class Walkthrough implements vscode.Disposable {
  private readonly id: string;
  private readonly state: State;
  private readonly subscription: vscode.Disposable;

  constructor(context: vscode.ExtensionContext, state: State) {
    this.id = `${context.extension.id}#start`;
    this.state = state;
    this.subscription = state.onDidChange(() => {
      this.tell();
    });
    this.tell();
  }

  dispose(): void {
    this.subscription.dispose();
  }

  /**
   * Open it, in an editor of its own.
   *
   * VS Code ticks a step when its context becomes true, and never one whose context is so already when it reads
   * the walkthrough, which it may do only now.
   */
  async open(): Promise<void> {
    await this.set({ running: false, ready: false, accepted: false });
    await vscode.commands.executeCommand('workbench.action.openWalkthrough', this.id, false);
    this.tell();
  }

  private tell(): void {
    const { languageServer, server, history } = this.state;
    const { accepted, partly } = history.counts();
    void this.set({
      running: languageServer === 'running',
      ready: server?.state === 'ready',
      accepted: accepted + partly > 0,
    });
  }

  /** Set the contexts of the steps; the key that triggers a completion goes by `ready` as well. */
  private async set(contexts: Readonly<Record<'running' | 'ready' | 'accepted', boolean>>): Promise<void> {
    await Promise.all(
      Object.entries(contexts).map(([name, value]) =>
        vscode.commands.executeCommand('setContext', `codeserve.${name}`, value),
      ),
    );
  }
}
