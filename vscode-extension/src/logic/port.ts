/** Whether a server can be started at a port of this machine. */

import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

export interface Address {
  readonly host: string;
  readonly port: number;
}

/** `served`: a codeserve server listens there. `taken`: something else does, or one that ends or does not answer. */
export type Port = 'free' | 'served' | 'taken';

const ANSWER_MS = 2_000;
const LOOK_MS = 500;

function free({ host, port }: Address): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => {
      resolve(error.code !== 'EADDRINUSE'); // what else is wrong with it the server itself says best
    });
    server.listen(port, host, () => {
      server.close(() => {
        resolve(true);
      });
    });
  });
}

/** Whether the server there answers as `codeserve/server/http.py` does, ready or not, and is to stay. */
async function served({ host, port }: Address): Promise<boolean> {
  try {
    const at = host.includes(':') ? `[${host}]` : host;
    const response = await fetch(`http://${at}:${port}/readyz`, { signal: AbortSignal.timeout(ANSWER_MS) });
    const body: unknown = await response.json();
    return typeof body === 'object' && body !== null && 'state' in body && body.state !== 'stopping';
  } catch {
    return false;
  }
}

export async function lookAt(address: Address): Promise<Port> {
  if (await free(address)) {
    return 'free';
  }
  return (await served(address)) ? 'served' : 'taken';
}

/**
 * The same, once it is not `taken` any more, or after `limitMs`: a server of another window, or of this one before it
 * was loaded anew, may be about to end. `waits` is called when there is something to wait for.
 */
export async function settled(
  address: Address,
  limitMs: number,
  signal: AbortSignal,
  waits: () => void,
): Promise<Port> {
  const end = Date.now() + limitMs;
  for (;;) {
    const found = await lookAt(address);
    if (found !== 'taken' || signal.aborted || Date.now() >= end) {
      return found;
    }
    waits();
    await sleep(LOOK_MS, undefined, { signal }).catch(() => undefined);
  }
}
