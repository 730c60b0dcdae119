/** The menu of the status bar item. */

import * as vscode from 'vscode';

interface Entry extends vscode.QuickPickItem {
  readonly command: string;
}

const ENTRIES: readonly Entry[] = [
  { label: '$(circle-slash) Toggle Completions', command: 'codeserve.toggle' },
  { label: '$(circle-slash) Toggle Completions for This Language', command: 'codeserve.toggleLanguage' },
  { label: '$(dashboard) Show Latency', command: 'codeserve.showLatency' },
  { label: '$(key) Set Token', command: 'codeserve.setToken' },
  { label: '$(play) Start Local Server', command: 'codeserve.startServer' },
  { label: '$(debug-restart) Restart', command: 'codeserve.restart' },
  { label: '$(output) Show Log', command: 'codeserve.showLog' },
  { label: '$(clippy) Copy Diagnostics', command: 'codeserve.copyDiagnostics' },
  { label: '$(book) Open Walkthrough', command: 'codeserve.openWalkthrough' },
  { label: '$(gear) Settings', command: 'codeserve.openSettings' },
];

export async function showMenu(): Promise<void> {
  const chosen = await vscode.window.showQuickPick(ENTRIES, { placeHolder: 'codeserve' });
  if (chosen !== undefined) {
    await vscode.commands.executeCommand(chosen.command);
  }
}
