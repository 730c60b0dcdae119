/** Puts the parts together. */

import path from 'node:path';
import * as vscode from 'vscode';
import { Client } from './client.ts';
import { registerCommands } from './commands.ts';
import { watchEditors } from './cursor.ts';
import { type Find, findLanguageServer } from './environment.ts';
import { LatencyView } from './latencyView.ts';
import { LocalServer } from './localServer.ts';
import { PartialAccepts } from './logic/partial.ts';
import { middleware } from './middleware.ts';
import { MissingServer } from './missing.ts';
import { Notices } from './notices.ts';
import { ChosenPython } from './python.ts';
import { SECTION, serverUrl } from './settings.ts';
import { State } from './state.ts';
import { StatusItems } from './statusItems.ts';
import { Tokens } from './token.ts';
import { Walkthrough } from './walkthrough.ts';

/** The name of the wheel in `dist`, from `scripts/build.mjs`. */
declare const WHEEL: string;

let client: Client | undefined;

export function activate(context: vscode.ExtensionContext): void {
  const log = vscode.window.createOutputChannel('codeserve', { log: true });
  const tokens = new Tokens(context.secrets, log);
  const state = new State();
  const partial = new PartialAccepts();
  const python = new ChosenPython(log);
  const find: Find = () => findLanguageServer(python);
  const notices = new Notices(tokens);
  const running = new Client(log, tokens, state, middleware(state, partial));
  client = running;
  const localServer = new LocalServer(log, find, () => void running.reconnect());

  const start = async (keep: boolean): Promise<void> => {
    const found = await find();
    // where the Python extension hangs nobody knows which one is right: what runs goes on until it answers
    if (keep && (python.overdue ? running.runs() : found !== undefined && running.runs(found))) {
      return;
    }
    await running.stop();
    state.process(found === undefined ? 'missing' : 'starting');
    if (found === undefined) {
      missing.wait();
      void (python.overdue ? notices.pythonOverdue() : missing.ask());
    } else {
      missing.rest();
      await running.start(found);
    }
  };
  let starts = Promise.resolve();
  // one after the other: a second start must not meet the first half way; `keep` one that is the right one
  const restart = ({ keep = false } = {}): Promise<void> => {
    // at once: a start that hangs would hold up all that come behind it
    const stopped = keep ? Promise.resolve() : running.stop();
    starts = starts
      .then(() => stopped)
      .then(() => start(keep))
      .catch((error: unknown) => {
        log.error(`The language server was not started: ${String(error)}`);
        state.process('stopped');
      });
    return starts;
  };
  const walkthrough = new Walkthrough(context, state);
  /** Something has changed in where it may be: the one that runs stays where it is still the right one. */
  const lookAgain = (): void => {
    void restart({ keep: true });
  };
  const missing = new MissingServer(context.asAbsolutePath(path.join('dist', WHEEL)), find, lookAgain);

  context.subscriptions.push(
    log,
    state,
    python,
    missing,
    localServer,
    walkthrough,
    new StatusItems(state),
    watchEditors(running, partial, state),
    python.onDidChange(lookAgain),
    state.onDidChange(() => {
      notices.process(state.languageServer);
      if (state.server !== undefined) {
        notices.status(state.server);
        if (state.server.state === 'offline') {
          void localServer.offer();
        }
      }
    }),
    tokens.onDidChange(() => {
      notices.forget();
      void running.sendToken(serverUrl(), { again: true });
    }),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (event.affectsConfiguration(SECTION)) {
        state.settingsChanged();
      }
      if (event.affectsConfiguration(`${SECTION}.languageServerPath`)) {
        void restart();
      }
    }),
    vscode.workspace.onDidGrantWorkspaceTrust(lookAgain),
    vscode.workspace.onDidChangeWorkspaceFolders(lookAgain),
    ...registerCommands({
      context,
      client: running,
      state,
      tokens,
      log,
      localServer,
      missing,
      latency: new LatencyView(context.extensionUri, state),
      walkthrough,
      restart: () => restart(),
      find,
    }),
  );
  // not awaited: VS Code runs no command, `restart` and `showLog` among them, before the activation is over, and a
  // language server that hangs would keep it from ever being
  void restart();
}

export async function deactivate(): Promise<void> {
  await client?.stop();
}
