/** The commands of the palette. */

import * as vscode from 'vscode';
import type { Client } from './client.ts';
import type { Find } from './environment.ts';
import type { LatencyView } from './latencyView.ts';
import type { LocalServer } from './localServer.ts';
import { showMenu } from './menu.ts';
import type { MissingServer } from './missing.ts';
import { copyDiagnostics } from './report.ts';
import { toggle, toggleLanguage } from './settings.ts';
import type { State } from './state.ts';
import type { Tokens } from './token.ts';
import type { Walkthrough } from './walkthrough.ts';

export interface Parts {
  readonly context: vscode.ExtensionContext;
  readonly client: Client;
  readonly state: State;
  readonly tokens: Tokens;
  readonly log: vscode.LogOutputChannel;
  readonly localServer: LocalServer;
  readonly missing: MissingServer;
  readonly latency: LatencyView;
  readonly walkthrough: Walkthrough;
  readonly restart: () => Promise<void>;
  readonly find: Find;
}

async function toggleThisLanguage(): Promise<void> {
  const language = vscode.window.activeTextEditor?.document.languageId;
  if (language === undefined) {
    void vscode.window.showInformationMessage('Open a file of the language first.');
    return;
  }
  await toggleLanguage(language);
}

/** Register them. Give back what ends them, the latency view with them. */
export function registerCommands(parts: Parts): vscode.Disposable[] {
  const { context, client, state, tokens, log, localServer, missing, latency, walkthrough } = parts;
  const { executeCommand } = vscode.commands;
  const commands: Record<string, () => unknown> = {
    trigger: () => executeCommand('editor.action.inlineSuggest.trigger'),
    toggle,
    toggleLanguage: toggleThisLanguage,
    setToken: () => tokens.enter(),
    showLog: () => {
      log.show();
    },
    restart: parts.restart,
    startServer: () => localServer.start(),
    stopServer: () => {
      localServer.stop();
    },
    showInstallCommand: () => missing.showInstallCommand(),
    showLatency: () => {
      latency.show();
    },
    copyDiagnostics: () => copyDiagnostics(context, client, state, tokens, parts.find),
    openWalkthrough: () => walkthrough.open(),
    openSettings: () => executeCommand('workbench.action.openSettings', `@ext:${context.extension.id}`),
    showMenu,
  };
  const registered = Object.entries(commands).map(([name, run]) =>
    vscode.commands.registerCommand(`codeserve.${name}`, run),
  );
  return [...registered, latency];
}
