/** A program in a process group of its own, which ends as a whole. */

import { type ChildProcess, spawn } from 'node:child_process';
import { openSync } from 'node:fs';
import { createServer } from 'node:net';
import { once } from 'node:events';
import path from 'node:path';
import { ARTIFACTS } from './places.ts';
import { until } from './wait.ts';

export class Program {
  private readonly child: ChildProcess;
  private readonly name: string;

  constructor(name: string, command: readonly string[], env: NodeJS.ProcessEnv) {
    const [file = '', ...args] = command;
    const log = openSync(path.join(ARTIFACTS, `${name}.log`), 'a');
    this.name = name;
    this.child = spawn(file, args, { env, stdio: ['ignore', log, log], detached: true });
  }

  get running(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null;
  }

  /** Ask it to end and wait until the whole group is gone. */
  async stop(): Promise<void> {
    if (!this.signal('SIGTERM')) {
      return;
    }
    await until(`${this.name} ends`, () => !this.signal(0), 20_000).catch(() => this.signal('SIGKILL'));
  }

  private signal(signal: NodeJS.Signals | 0): boolean {
    try {
      return process.kill(-(this.child.pid ?? Number.NaN), signal);
    } catch {
      return false;
    }
  }
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') {
    throw new Error('no port');
  }
  return address.port;
}

/** The environment for programs under test: nothing of this run's own settings of codeserve or Node. */
export function environment(more: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !/^(CODESERVE_|NODE_|npm_|E2E_)/.test(name));
  return { ...Object.fromEntries(kept), ...more };
}
