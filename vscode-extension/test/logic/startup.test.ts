import assert from 'node:assert/strict';
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { test } from 'node:test';
import { Lines, localAddress, readLine, untilEof } from '../../src/logic/startup.ts';

test('stages and readiness are told from other lines', () => {
  assert.deepEqual(readLine('  0.7 s  importing vLLM'), { kind: 'stage', stage: 'importing vLLM' });
  assert.deepEqual(readLine('123.4 s  loading weights'), { kind: 'stage', stage: 'loading weights' });
  assert.deepEqual(readLine('ready after 21 s: mini on vLLM 0.32 at ws://127.0.0.1:8760'), { kind: 'ready' });
  assert.deepEqual(readLine('codeserve 0.1.0: mini '), { kind: 'other', text: 'codeserve 0.1.0: mini' });
});

test('lines are whole, however the stream is cut', () => {
  const lines = new Lines();
  assert.deepEqual(lines.feed('on'), []);
  assert.deepEqual(lines.feed('e\r\ntwo\nth'), ['one', 'two']);
  assert.deepEqual(lines.feed('ree\n'), ['three']);
});

test('only plain addresses of this machine are local', () => {
  assert.deepEqual(localAddress('ws://127.0.0.1:8760'), { host: '127.0.0.1', port: 8760 });
  assert.deepEqual(localAddress('ws://localhost/'), { host: 'localhost', port: 80 });
  assert.deepEqual(localAddress('ws://[::1]:9'), { host: '::1', port: 9 });
  assert.deepEqual(localAddress(' WS://LOCALHOST:8760 '), { host: 'localhost', port: 8760 });
  for (const url of [
    'ws://127.0.0.1:99999',
    'ws://127.0.0.1:0',
    'wss://127.0.0.1:8760',
    'ws://example.org:8760',
    'ws://127.0.0.1.example.org:1',
    'ws://127.0.0.1:1/x',
  ]) {
    assert.equal(localAddress(url), undefined, url);
  }
});

const posix = { skip: process.platform === 'win32' ? 'needs a POSIX shell' : false, timeout: 60_000 };

/** A program run as a local server is, with what it writes. */
function start(
  program: string,
  graceS?: number,
): { child: ChildProcessByStdio<Writable, Readable, null>; output: () => string } {
  const child = spawn('/bin/sh', ['-c', untilEof(graceS), 'sh', 'sh', '-c', program], {
    stdio: ['pipe', 'pipe', 'ignore'],
    detached: true,
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  return { child, output: () => output };
}

/** Its exit status and signal, once nothing of it is left: all that it starts has its standard output. */
async function closed(child: ChildProcessByStdio<Writable, Readable, null>): Promise<unknown[]> {
  return (await once(child, 'close')) as unknown[];
}

test('a local server is asked to end when this side goes away', posix, async () => {
  const { child, output } = start('trap "echo ended; exit 7" TERM; echo up; while :; do sleep 0.05; done');
  await once(child.stdout, 'data');
  child.stdin.end();
  assert.deepEqual(await closed(child), [7, null]);
  assert.equal(output(), 'up\nended\n');
});

test('one that does not end is made to, with what it has started', posix, async () => {
  const { child, output } = start(
    'trap "echo asked" TERM; (trap "" TERM; while :; do sleep 0.05; done) & echo up; while :; do sleep 0.05; done',
    1,
  );
  await once(child.stdout, 'data');
  child.stdin.end();
  assert.deepEqual(await closed(child), [null, 'SIGKILL']);
  assert.equal(output(), 'up\nasked\n');
});

test(
  'a local server that ends by itself gives its exit status, and leaves nothing behind',
  posix,
  async () => {
    const { child } = start('sleep 1000 & exit 3');
    assert.deepEqual(await closed(child), [3, null]);
    child.stdin.end();
  },
);
