/** What to do where there is no language server: one prompt, with the command that installs it. */

import { homedir } from 'node:os';
import * as vscode from 'vscode';
import { type Find, WINDOWS } from './environment.ts';
import { installCommand } from './logic/install.ts';
import { Poll } from './logic/poll.ts';
import { askToInstall, change, languageServerPath } from './settings.ts';

/** How often it is looked for: it may come by hand. */
const LOOK_MS = 10_000;
/** The same while the user installs it, and how long that takes at most. */
const LOOK_SOON_MS = 2_000;
const INSTALL_MS = 15 * 60_000;

/** How long a shell is given to show its prompt, where it does not tell. */
const PROMPT_MS = 2_000;

/** The window, with what VS Code has since 1.93. */
type Window = typeof vscode.window & {
  readonly onDidChangeTerminalShellIntegration?: vscode.Event<{ readonly terminal: vscode.Terminal }>;
};

/** Show a terminal and wait until its shell is there: text that comes before is shown twice. */
function open(options: vscode.TerminalOptions): Promise<vscode.Terminal> {
  const terminal = vscode.window.createTerminal(options);
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      watch?.dispose();
      resolve(terminal);
    };
    const timer = setTimeout(done, PROMPT_MS);
    const watch = (vscode.window as Window).onDidChangeTerminalShellIntegration?.((event) => {
      if (event.terminal === terminal) {
        done();
      }
    });
    terminal.show();
  });
}

export class MissingServer implements vscode.Disposable {
  private asked = false;
  private installing = Number.NEGATIVE_INFINITY;
  private readonly poll: Poll;

  private readonly wheel: string;

  /** `wheel` brings the language server; `found` is called once `find` finds it. */
  constructor(wheel: string, find: Find, found: () => void) {
    this.wheel = wheel;
    this.poll = new Poll(async () => {
      const there = (await find()) !== undefined;
      if (there) {
        found();
      }
      return there;
    });
  }

  /** Look for it until it is there or `rest` is called. */
  wait(): void {
    this.poll.start(() => (Date.now() - this.installing < INSTALL_MS ? LOOK_SOON_MS : LOOK_MS));
  }

  rest(): void {
    this.poll.stop();
  }

  /** Ask what to do, once in the life of the window. */
  async ask(): Promise<void> {
    const set = languageServerPath();
    if (this.asked || (set === '' && !askToInstall())) {
      return;
    }
    this.asked = true;
    const message =
      set === ''
        ? 'codeserve needs its language server, codeserve-lsp, and it was not found on this machine.'
        : `There is no program that runs at ${set}, which the setting codeserve.languageServerPath names.`;
    const [show, setting, guide, never] = [
      'Show Install Command',
      'Open Setting',
      'Open Guide',
      "Don't Ask Again",
    ];
    const choices = set === '' ? [show, setting, guide, never] : [setting, guide];
    const chosen = await vscode.window.showWarningMessage(message, ...choices);
    if (chosen === show) {
      await this.showInstallCommand();
    } else if (chosen === setting) {
      await vscode.commands.executeCommand('workbench.action.openSettings', 'codeserve.languageServerPath');
    } else if (chosen === guide) {
      await vscode.commands.executeCommand('codeserve.openWalkthrough');
    } else if (chosen === never) {
      await change('askToInstall', false);
    }
  }

  /** Put the command into a terminal, where the user runs it, and look often for what it brings. */
  async showInstallCommand(): Promise<void> {
    this.installing = Date.now();
    this.wait();
    const terminal = await open({
      name: 'Install codeserve',
      cwd: homedir(), // Python would import from the folder of the workspace
      ...(WINDOWS && { shellPath: 'powershell.exe' }), // the command is not for cmd or Git Bash
    });
    if (terminal.exitStatus === undefined) {
      const command = installCommand({ wheel: this.wheel, home: homedir(), windows: WINDOWS });
      terminal.sendText(command, false);
    }
  }

  dispose(): void {
    this.rest();
  }
}
