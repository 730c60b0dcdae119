/** What to do where there is no language server: one prompt, with the command that installs it. */

import { homedir } from 'node:os';
import * as vscode from 'vscode';
import { findLanguageServer, WINDOWS } from './environment.ts';
import { installCommand } from './logic/install.ts';
import { languageServerPath } from './settings.ts';

/** How often it is looked for while the user installs it, and for how long at most. */
const LOOK_MS = 2_000;
const LOOK_FOR_MS = 15 * 60_000;

export class MissingServer implements vscode.Disposable {
  private asked = false;
  private timer: NodeJS.Timeout | undefined;

  private readonly wheel: string;
  private readonly found: () => void;

  /** `wheel` brings the language server; `found` is called once it is there. */
  constructor(wheel: string, found: () => void) {
    this.wheel = wheel;
    this.found = found;
  }

  /** Ask what to do, once in the life of the window. */
  async ask(): Promise<void> {
    if (this.asked) {
      return;
    }
    this.asked = true;
    const set = languageServerPath();
    const message =
      set === ''
        ? 'codeserve needs its language server, codeserve-lsp, and it is not installed on this machine.'
        : `There is no program at ${set}, which the setting codeserve.languageServerPath names.`;
    const [show, settings, guide] = ['Show Install Command', 'Open Setting', 'Open Guide'];
    const chosen = await vscode.window.showWarningMessage(message, set === '' ? show : settings, guide);
    if (chosen === show) {
      this.showInstallCommand();
    } else if (chosen === settings) {
      await vscode.commands.executeCommand('workbench.action.openSettings', 'codeserve.languageServerPath');
    } else if (chosen === guide) {
      await vscode.commands.executeCommand('codeserve.openWalkthrough');
    }
  }

  /** Put the command into a terminal, where the user runs it, and wait for what it brings. */
  showInstallCommand(): void {
    const terminal = vscode.window.createTerminal({
      name: 'Install codeserve',
      ...(WINDOWS && { shellPath: 'powershell.exe' }), // the command is not for cmd or Git Bash
    });
    terminal.show();
    terminal.sendText(installCommand({ wheel: this.wheel, home: homedir(), windows: WINDOWS }), false);
    const end = Date.now() + LOOK_FOR_MS;
    this.dispose();
    this.timer = setInterval(() => void this.look(end), LOOK_MS);
  }

  private async look(end: number): Promise<void> {
    const there = (await findLanguageServer()) !== undefined;
    if (this.timer !== undefined && (there || Date.now() > end)) {
      this.dispose();
      if (there) {
        this.found();
      }
    }
  }

  dispose(): void {
    clearInterval(this.timer);
    this.timer = undefined;
  }
}
