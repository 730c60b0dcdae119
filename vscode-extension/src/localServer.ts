/** A server on this machine, for as long as this window is open. */

import { type ChildProcess, execFile, spawn } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import * as vscode from 'vscode';
import { findLanguageServer, runnable, WINDOWS } from './environment.ts';
import { serverBeside } from './logic/finder.ts';
import { Lines, localAddress, readLine, untilEof } from './logic/startup.ts';
import { askToStartServer, change, DEFAULT_URL, serverUrl } from './settings.ts';

/**
 * Exits with 0 where an engine and what the server needs are installed; loads none of it. To be run with `-P`:
 * else modules would come from the working directory, which may be a workspace that nobody trusts.
 */
const HAS_ENGINE =
  'import importlib.util as u, sys; sys.exit(not all(map(u.find_spec, ("vllm", "tokenizers", "structlog"))))';

const run = promisify(execFile);

/** The program `codeserve` whose environment has an engine, undefined when there is none. */
async function findServer(): Promise<string | undefined> {
  const languageServer = await findLanguageServer();
  if (languageServer === undefined || WINDOWS) {
    return undefined; // the server runs on Linux only
  }
  const program = serverBeside(languageServer.file, WINDOWS);
  const python = path.join(path.dirname(program), 'python');
  if (!(await runnable(program)) || !(await runnable(python))) {
    return undefined;
  }
  return run(python, ['-P', '-c', HAS_ENGINE], { timeout: 20_000 }).then(
    () => program,
    () => undefined,
  );
}

export class LocalServer implements vscode.Disposable {
  /** From where it is spawned to where it has ended. */
  private child: ChildProcess | undefined;
  private starting = false;
  private stopping = false;
  private asked = false;

  private readonly log: vscode.LogOutputChannel;
  private readonly ready: () => void;

  /** `ready` is called once it takes connections. */
  constructor(log: vscode.LogOutputChannel, ready: () => void) {
    this.log = log;
    this.ready = ready;
  }

  /** Offer to start one where none answers at the default address and one is installed. Asks once. */
  async offer(): Promise<void> {
    if (this.asked || this.child !== undefined || serverUrl() !== DEFAULT_URL || !askToStartServer()) {
      return;
    }
    this.asked = true;
    if ((await findServer()) === undefined) {
      return;
    }
    const [start, never] = ['Start Server', "Don't Ask Again"];
    const message = `No codeserve server answers at ${DEFAULT_URL}. One is installed on this machine.`;
    const chosen = await vscode.window.showInformationMessage(message, start, never);
    if (chosen === start) {
      await this.start();
    } else if (chosen === never) {
      await change('askToStartServer', false);
    }
  }

  /** Start it and show how far it is, until it is ready or has failed. */
  async start(): Promise<void> {
    this.asked = true; // who knows of the command need not be asked
    if (this.child !== undefined || this.starting) {
      void vscode.window.showInformationMessage(
        'This window has a server already: it is starting, running or ending.',
      );
      return;
    }
    this.starting = true;
    try {
      await this.launch();
    } finally {
      this.starting = false;
    }
  }

  /** End it; nothing happens when this window has started none. */
  stop(): void {
    this.stopping = true;
    this.child?.stdin?.end(); // see untilEof
  }

  dispose(): void {
    this.stop();
  }

  private async launch(): Promise<void> {
    const address = localAddress(serverUrl());
    if (address === undefined) {
      void vscode.window.showErrorMessage(
        'The setting codeserve.serverUrl names another machine: a server can be started here for ws://127.0.0.1 only.',
      );
      return;
    }
    const program = await findServer();
    if (program === undefined) {
      void vscode.window.showErrorMessage(
        'No codeserve with an engine is installed beside codeserve-lsp: see "Start" in the README of codeserve.',
      );
      return;
    }
    const options = { location: vscode.ProgressLocation.Notification, cancellable: true };
    await vscode.window.withProgress(
      { ...options, title: 'codeserve: starting the server' },
      (progress, token) => {
        const child = this.spawn(program, address);
        token.onCancellationRequested(() => {
          this.stop();
        });
        return this.follow(child, progress);
      },
    );
  }

  private spawn(program: string, { host, port }: { host: string; port: number }): ChildProcess {
    const command = [program, 'serve', '--host', host, '--port', String(port), '--log-format', 'console'];
    this.log.info(`Starting ${command.join(' ')}`);
    const child = spawn('/bin/sh', ['-c', untilEof(), 'codeserve', ...command], {
      detached: true, // so that it leads a group, which can be ended as a whole
      stdio: ['pipe', 'ignore', 'pipe'],
      // its child processes would import from the working directory, which may be a workspace that nobody trusts
      env: { ...process.env, NO_COLOR: '1', PYTHONSAFEPATH: '1' },
    });
    child.stdin.on('error', () => undefined); // it has ended by itself; `exit` tells
    this.child = child;
    this.stopping = false;
    return child;
  }

  private async follow(child: ChildProcess, progress: vscode.Progress<{ message: string }>): Promise<void> {
    const lines = new Lines();
    let last = '';
    let started = false;
    return new Promise((resolve) => {
      child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
        for (const line of lines.feed(chunk)) {
          this.log.info(`[server] ${line}`);
          const read = readLine(line);
          if (read.kind === 'stage') {
            progress.report({ message: read.stage });
          } else if (read.kind === 'ready') {
            started = true;
            this.ready();
            resolve();
          } else if (read.text !== '') {
            last = read.text;
          }
        }
      });
      const ended = (how: string): void => {
        this.log.info(`The server has ended (${how})`);
        child.stdin?.end();
        this.child = undefined;
        if (!started && !this.stopping) {
          void vscode.window.showErrorMessage(`The server did not start: ${last || 'the log says more'}`);
        }
        resolve();
      };
      child.once('error', (error) => {
        last = error.message;
        ended('it could not be started'); // nothing else comes then
      });
      child.once('exit', (status) => {
        ended(status === null ? 'by a signal' : String(status));
      });
    });
  }
}
