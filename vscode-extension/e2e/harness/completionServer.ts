/** The real server with the bundled model. */

import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import path from 'node:path';
import { PYTHON } from './places.ts';
import { environment, freePort, Program } from './program.ts';
import { until } from './wait.ts';

/** An engine on the CPU takes up to a minute to start, and some minutes where others keep the machine busy. */
export const START_MS = 400_000;

export const TOKEN = 'the-right-token';

export class CompletionServer {
  private program: Program | undefined;

  readonly port: number;
  private readonly tokens: string;

  private constructor(port: number, tokens: string) {
    this.port = port;
    this.tokens = tokens;
  }

  /** A server that is not started yet. `folder` is for its file of tokens. */
  static async create(folder: string): Promise<CompletionServer> {
    const tokens = path.join(folder, 'tokens');
    await writeFile(tokens, `tests ${TOKEN}\n`, { mode: 0o600 });
    return new CompletionServer(await freePort(), tokens);
  }

  get url(): string {
    return `ws://127.0.0.1:${this.port}`;
  }

  /** Start it and wait until the model is loaded. */
  async start(): Promise<void> {
    const program = new Program(
      'codeserve',
      [PYTHON, '-m', 'codeserve', 'serve', '--port', String(this.port), '--token-file', this.tokens],
      // what is shown has to fit in, however sure the model is of it
      environment({ CODESERVE_MIN_CONFIDENCE: '-100' }),
    );
    this.program = program;
    await until(
      'the server is ready',
      async () => {
        if (!program.running) {
          throw new Error('the server has ended: see codeserve.log');
        }
        return this.ready();
      },
      START_MS,
    );
  }

  async stop(): Promise<void> {
    await this.program?.stop();
    this.program = undefined;
  }

  /** Have the port taken by something that does not answer, as a server does that is ending. Gives what frees it. */
  async occupy(): Promise<() => void> {
    const sockets = new Set<Socket>();
    const holder = createServer((socket) => {
      sockets.add(socket.unref());
      socket.on('error', () => undefined);
    }).listen(this.port, '127.0.0.1');
    await once(holder, 'listening');
    holder.unref(); // a case that fails does not free it
    return () => {
      holder.close();
      sockets.forEach((socket) => socket.destroy());
    };
  }

  /** Whether a server with a loaded model answers at the port, whoever started it. */
  async ready(): Promise<boolean> {
    return (await this.get('/readyz'))?.ok === true;
  }

  /** Whether anything answers at the port. */
  async alive(): Promise<boolean> {
    return (await this.get('/healthz')) !== undefined;
  }

  /** The sum of a metric over the labels that are not given. */
  async metric(name: string, label = ''): Promise<number> {
    const response = await this.get('/metrics');
    const lines = (await response?.text())?.split('\n') ?? [];
    return lines
      .filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `))
      .filter((line) => line.includes(label))
      .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);
  }

  private async get(file: string): Promise<Response | undefined> {
    try {
      return await fetch(`http://127.0.0.1:${this.port}${file}`, { signal: AbortSignal.timeout(5_000) });
    } catch {
      return undefined;
    }
  }
}
