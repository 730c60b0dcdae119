/** The language server's process and the connection to it. */

import { createInterface } from 'node:readline';
import * as vscode from 'vscode';
import {
  type ClientCapabilities,
  CloseAction,
  ErrorAction,
  type FeatureState,
  LanguageClient,
  type Middleware,
  RevealOutputChannelOn,
  State,
  type StaticFeature,
} from 'vscode-languageclient/node';
import { DOCUMENTS } from './documents.ts';
import type { Candidate } from './logic/finder.ts';
import { readLogLine } from './logic/logLine.ts';
import {
  type Answered,
  readAnswered,
  readStatus,
  readTimed,
  type ServerStatus,
  type Timed,
} from './logic/messages.ts';
import type { Process } from './logic/status.ts';
import { within } from './logic/within.ts';
import { forLanguageServer, ofTheUser, SECTION, serverUrl } from './settings.ts';
import type { Tokens } from './token.ts';

/** After so many unexpected ends within three minutes it stays stopped, and the status says so. */
const RESTARTS = 4;
const RESTARTS_WITHIN_MS = 180_000;

/** One that has not answered `initialize` by then hangs. It takes a second, and some on a machine that is busy. */
const ANSWER_MS = 30_000;

/** How long one that is to stop may still take to start. */
const STARTED_MS = 5_000;

/** How long the answer to `workspace/configuration` waits for the token: the language server waits two seconds for both. */
const TOKEN_MS = 1_000;

/** What the rest of the extension does with what comes in. */
export interface Listener {
  process(process: Process): void;
  status(status: ServerStatus): void;
  answered(answered: Answered): void;
  timed(timed: Timed): void;
}

/** Asks for the notifications on the time that things take. */
class TimingsFeature implements StaticFeature {
  fillClientCapabilities(capabilities: ClientCapabilities): void {
    capabilities.experimental = {
      ...(capabilities.experimental as object | undefined),
      codeserveTimings: true,
    };
  }

  initialize(): void {
    // nothing to set up: the notifications come by themselves
  }

  getState(): FeatureState {
    return { kind: 'static' };
  }

  clear(): void {
    // nothing was set up
  }
}

/** A log channel for the trace of messages, which stays empty: they hold source code and the token. */
function noTrace(log: vscode.LogOutputChannel): vscode.LogOutputChannel {
  return Object.create(log, {
    logLevel: { value: vscode.LogLevel.Off },
    onDidChangeLogLevel: { value: () => new vscode.Disposable(() => undefined) },
  }) as vscode.LogOutputChannel;
}

function processOf(state: State): Process {
  switch (state) {
    case State.Running:
      return 'running';
    case State.Starting:
      return 'starting';
    default:
      return 'stopped'; // also a start that failed, after a crash as well
  }
}

export class Client {
  private client: LanguageClient | undefined;
  private begun: Promise<unknown> = Promise.resolve();
  private file = '';
  private readonly ends: number[] = [];
  private answering: NodeJS.Timeout | undefined;

  private readonly log: vscode.LogOutputChannel;
  private readonly tokens: Tokens;
  private readonly listener: Listener;
  private readonly middleware: Middleware;

  constructor(log: vscode.LogOutputChannel, tokens: Tokens, listener: Listener, middleware: Middleware) {
    this.log = log;
    this.tokens = tokens;
    this.listener = listener;
    this.middleware = middleware;
  }

  /** Start the program. Errors are in the log and in the status. */
  async start({ file, source }: Candidate): Promise<void> {
    this.log.info(`Starting ${file} (from ${source})`);
    const client = this.make(file);
    this.client = client;
    this.file = file;
    this.ends.length = 0; // who starts it anew gets all the restarts
    try {
      const begun = client.start();
      this.begun = begun;
      await begun;
      if (this.client !== client) {
        await this.end(client); // it was to stop meanwhile
      }
    } catch (error) {
      this.log.error(`The language server did not start: ${String(error)}`);
      if (this.client === client) {
        this.listener.process('stopped');
      }
    }
  }

  /** Whether this program runs at present, or any where none is named. */
  runs(program?: Candidate): boolean {
    return this.client?.isRunning() === true && (program === undefined || this.file === program.file);
  }

  /** End the program, if it runs. */
  async stop(): Promise<void> {
    const { client, begun } = this;
    this.client = undefined;
    clearTimeout(this.answering);
    if (client !== undefined) {
      // one that is still starting cannot be stopped in good order: the commands that it registers would stay
      await within(
        STARTED_MS,
        begun.catch(() => undefined),
      );
      await this.end(client);
    }
  }

  private async end(client: LanguageClient): Promise<void> {
    // of one that hangs while it starts it fails, and its process is killed after two seconds
    await client.dispose().catch((error: unknown) => {
      this.log.warn(`The language server did not stop in good order: ${String(error)}`);
    });
  }

  /**
   * Hand over the token that is stored for a server, or take back the one before. With `again` a server that
   * has refused it is asked once more, also where the token is still the same.
   */
  async sendToken(url: string, { again = false } = {}): Promise<void> {
    const token = (await this.tokens.get(url)) ?? null;
    const taken = this.ask('codeserve/token', { token, serverUrl: url });
    await Promise.all([taken, again ? this.reconnect() : Promise.resolve()]);
  }

  /** Have it try now to connect, where it would wait. */
  async reconnect(): Promise<void> {
    await this.ask('workspace/executeCommand', { command: 'codeserve.reconnect' });
  }

  /** Send a request; undefined when there is no language server or it fails. */
  async ask(method: string, params: object): Promise<unknown> {
    if (this.client?.isRunning() !== true) {
      return undefined;
    }
    try {
      return await this.client.sendRequest<unknown>(method, params);
    } catch (error) {
      this.log.warn(`${method} failed: ${String(error)}`);
      return undefined;
    }
  }

  /** Send a notification, if there is a language server. */
  notify(method: string, params: object): void {
    if (this.client?.isRunning() === true) {
      this.client.sendNotification(method, params).catch((error: unknown) => {
        this.log.warn(`${method} was not sent: ${String(error)}`);
      });
    }
  }

  private make(file: string): LanguageClient {
    const client: LanguageClient = new LanguageClient(
      'codeserve-lsp',
      'codeserve',
      { command: file, args: ['--stdio', '--log-level', 'info'] },
      {
        documentSelector: DOCUMENTS,
        initializationOptions: ofTheUser, // asked for at each start, also at one after a crash
        outputChannel: this.log,
        traceOutputChannel: noTrace(this.log),
        revealOutputChannelOn: RevealOutputChannelOn.Never,
        middleware: {
          ...this.middleware,
          workspace: {
            configuration: async (params) => {
              // the token of the server that these settings name is there before them, unless a keyring takes its time
              await within(TOKEN_MS, this.sendToken(serverUrl()));
              return params.items.map((item) => (item.section === SECTION ? forLanguageServer() : null));
            },
          },
        },
        initializationFailedHandler: () => false,
        errorHandler: {
          error: () => ({ action: ErrorAction.Continue, handled: true }),
          closed: () => ({
            action:
              this.client === client && this.mayRestart() ? CloseAction.Restart : CloseAction.DoNotRestart,
            handled: true,
          }),
        },
        stdioOptions: {
          stdout: () => undefined, // carries the messages
          stderr: (input) => {
            createInterface({ input }).on('line', (line) => {
              const { level, text } = readLogLine(line);
              this.log[level](text);
            });
          },
        },
      },
    );
    client.registerFeature(new TimingsFeature());
    // one that is to end may have something to say still
    const told = (method: string, tell: (params: unknown) => void): void => {
      client.onNotification(method, (params: unknown) => {
        if (this.client === client) {
          tell(params);
        }
      });
    };
    told('codeserve/status', (params) => {
      this.listener.status(readStatus(params));
    });
    told('codeserve/answered', (params) => {
      this.listener.answered(readAnswered(params));
    });
    told('codeserve/timed', (params) => {
      this.listener.timed(readTimed(params));
    });
    client.onDidChangeState(({ newState }) => {
      if (this.client === client) {
        this.watch(client, newState);
        this.listener.process(processOf(newState));
      } else if (newState === State.Running) {
        // it was starting anew when it was to stop: once it is done with that, or its commands would stay registered
        client.start().then(
          () => this.end(client),
          () => undefined,
        );
      }
    });
    return client;
  }

  /** While it starts, see that it comes to an end. */
  private watch(client: LanguageClient, state: State): void {
    clearTimeout(this.answering);
    if (state === State.Starting) {
      this.answering = setTimeout(() => {
        this.log.error(`The language server did not answer within ${ANSWER_MS / 1000} s, and is ended`);
        this.client = undefined;
        this.listener.process('silent');
        void this.end(client);
      }, ANSWER_MS);
    }
  }

  /** Whether to start it again, after it has ended by itself once more. */
  private mayRestart(): boolean {
    const now = Date.now();
    this.ends.push(now);
    return this.ends.filter((end) => now - end < RESTARTS_WITHIN_MS).length <= RESTARTS;
  }
}
