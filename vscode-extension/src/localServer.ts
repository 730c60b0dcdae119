/** A server on this machine, for as long as this window is open. */

import { type ChildProcess, execFile, spawn } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import * as vscode from 'vscode';
import { type Find, runnable, WINDOWS } from './environment.ts';
import { serverBeside } from './logic/finder.ts';
import { Offer } from './logic/offer.ts';
import { type Address, settled } from './logic/port.ts';
import { GRACE_S, Lines, localAddress, readLine, untilEof } from './logic/startup.ts';
import { askToStartServer, change, DEFAULT_URL, serverUrl } from './settings.ts';

/**
 * Exits with 0 where an engine and what the server needs are installed; loads none of it. To be run with `-P`:
 * else modules would come from the working directory, which may be a workspace that nobody trusts.
 */
const HAS_ENGINE =
  'import importlib.util as u, sys; sys.exit(not all(map(u.find_spec, ("vllm", "tokenizers", "structlog"))))';

/** How often to look for a server to offer, at most: a Python is started for it. */
const OFFER_MS = 60_000;

/** How long another window's server may still have the port, and some seconds. */
const PORT_MS = (GRACE_S + 5) * 1_000;

const run = promisify(execFile);

type Progress = vscode.Progress<{ message: string }>;

/** The program `codeserve` whose environment has an engine, undefined when there is none. */
async function findServer(find: Find): Promise<string | undefined> {
  const languageServer = await find();
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
  /** Aborted when the start, or what has come of it, is to end. */
  private life = new AbortController();
  private readonly offering = new Offer(OFFER_MS);

  private readonly log: vscode.LogOutputChannel;
  private readonly find: Find;
  private readonly ready: () => void;

  /** `find` looks for the language server, beside which it is; `ready` is called once it takes connections. */
  constructor(log: vscode.LogOutputChannel, find: Find, ready: () => void) {
    this.log = log;
    this.find = find;
    this.ready = ready;
  }

  /** Offer to start one where none answers at the default address and one is installed. Asks once. */
  async offer(): Promise<void> {
    const wanted = (): boolean =>
      this.child === undefined && !this.starting && serverUrl() === DEFAULT_URL && askToStartServer();
    if (!wanted()) {
      return;
    }
    // once more after the look, which takes a while
    if (!(await this.offering.due(async () => (await findServer(this.find)) !== undefined && wanted()))) {
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
    this.offering.settle(); // who knows of the command need not be asked
    if (this.child !== undefined || this.starting) {
      void vscode.window.showInformationMessage(
        'This window has a server already: it is starting, running or ending.',
      );
      return;
    }
    const address = localAddress(serverUrl());
    if (address === undefined) {
      void vscode.window.showErrorMessage(
        `A server is started here at an address like ${DEFAULT_URL} only: the setting codeserve.serverUrl is another one.`,
      );
      return;
    }
    this.starting = true;
    const life = (this.life = new AbortController());
    const options = { location: vscode.ProgressLocation.Notification, cancellable: true };
    try {
      const problem = await vscode.window.withProgress(
        { ...options, title: 'codeserve: starting the server' },
        (progress, token) => {
          token.onCancellationRequested(() => {
            this.stop();
          });
          return this.launch(address, life.signal, progress);
        },
      );
      if (problem !== '' && !life.signal.aborted) {
        void vscode.window.showErrorMessage(problem);
      }
    } finally {
      this.starting = false;
    }
  }

  /** End it, or its start; nothing happens when this window has started none. */
  stop(): void {
    this.life.abort();
    this.child?.stdin?.end(); // see untilEof
  }

  dispose(): void {
    this.stop();
  }

  /** What has kept it from starting, in a sentence; '' when a server is there, or this one was to stop. */
  private async launch(address: Address, signal: AbortSignal, progress: Progress): Promise<string> {
    if (WINDOWS) {
      return 'The server runs on Linux: start it there, or in WSL, and name its address in the setting codeserve.serverUrl.';
    }
    const program = await findServer(this.find);
    if (program === undefined) {
      return 'No codeserve with an engine is installed beside codeserve-lsp: see "Start" in the README of codeserve.';
    }
    const port = await settled(address, PORT_MS, signal, () => {
      progress.report({ message: `waiting for port ${address.port}, which another program still has` });
    });
    if (signal.aborted) {
      return '';
    }
    if (port === 'taken') {
      return `Port ${address.port} is taken by another program: end that, or choose another port in the setting codeserve.serverUrl.`;
    }
    if (port === 'served') {
      void vscode.window.showInformationMessage(`A codeserve server is there already, at ${serverUrl()}.`);
      this.ready();
      return '';
    }
    return this.follow(this.spawn(program, address), progress);
  }

  private spawn(program: string, { host, port }: Address): ChildProcess {
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
    return child;
  }

  /** Until it is ready, or has ended before; then why, in a sentence. */
  private async follow(child: ChildProcess, progress: Progress): Promise<string> {
    const lines = new Lines();
    let last = '';
    return new Promise((resolve) => {
      child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
        for (const line of lines.feed(chunk)) {
          this.log.info(`[server] ${line}`);
          const read = readLine(line);
          if (read.kind === 'stage') {
            progress.report({ message: read.stage });
          } else if (read.kind === 'ready') {
            this.ready();
            resolve('');
          } else if (read.text !== '') {
            last = read.text;
          }
        }
      });
      const ended = (how: string): void => {
        this.log.info(`The server has ended (${how})`);
        child.stdin?.end();
        this.child = undefined;
        resolve(`The server did not start: ${last || 'the log says more'}`);
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
