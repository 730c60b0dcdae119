import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { type Address, lookAt, settled } from '../../src/logic/port.ts';

/** Longer than any test. */
const LONG_MS = 1_000_000;
const GO_ON = new AbortController().signal;

function noWait(): void {
  assert.ok(false, 'it waits');
}

/** A server that answers with this body, and not at all without one. */
async function listen(test: TestContext, body?: string): Promise<{ server: Server; address: Address }> {
  const server = createServer((_, response) => {
    if (body !== undefined) {
      response.statusCode = 503;
      response.end(body);
    }
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  test.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return { server, address: { host: '127.0.0.1', port: (server.address() as AddressInfo).port } };
}

test('a codeserve server is told from another program, ready or not', async (context) => {
  const { address } = await listen(context, '{"state": "starting"}');
  assert.equal(await lookAt(address), 'served');
  assert.equal(await lookAt((await listen(context, 'hello')).address), 'taken');
  assert.equal(await lookAt((await listen(context, '{}')).address), 'taken');
});

test('a port at which nobody listens is free, and is left so', async (context) => {
  const { server, address } = await listen(context);
  server.close();
  await once(server, 'close');
  assert.equal(await settled(address, LONG_MS, GO_ON, noWait), 'free');
  assert.equal(await lookAt(address), 'free');
});

test('a server that is about to end is waited for', async (context) => {
  const { server, address } = await listen(context, '{"state": "stopping"}');
  const found = await settled(address, LONG_MS, GO_ON, () => {
    server.close();
    server.closeAllConnections();
  });
  assert.equal(found, 'free');
});

test('one that stays is waited for so long only, and no longer than anybody wants it', async (context) => {
  const { address } = await listen(context, 'hello');
  assert.equal(await settled(address, 0, GO_ON, noWait), 'taken');
  const wanted = new AbortController();
  const found = await settled(address, LONG_MS, wanted.signal, () => {
    wanted.abort();
  });
  assert.equal(found, 'taken');
});
