import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { Lines, localAddress, readLine, UNTIL_EOF } from '../../src/logic/startup.ts';

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
  for (const url of [
    'wss://127.0.0.1:8760',
    'ws://example.org:8760',
    'ws://127.0.0.1.example.org:1',
    'ws://127.0.0.1:1/x',
  ]) {
    assert.equal(localAddress(url), undefined, url);
  }
});

const posix = { skip: process.platform === 'win32' ? 'needs a POSIX shell' : false };

test('a local server ends when this side goes away', posix, async () => {
  const child = spawn(
    '/bin/sh',
    [
      '-c',
      UNTIL_EOF,
      'sh',
      'sh',
      '-c',
      'trap "echo ended; exit 7" TERM; echo up; while :; do sleep 0.05; done',
    ],
    {
      stdio: ['pipe', 'pipe', 'ignore'],
    },
  );
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  await once(child.stdout, 'data');
  child.stdin.end();
  const [status] = (await once(child, 'close')) as [number];
  assert.equal(output, 'up\nended\n');
  assert.equal(status, 7);
});

test('a local server that ends by itself gives its exit status', posix, async () => {
  const child = spawn('/bin/sh', ['-c', UNTIL_EOF, 'sh', 'sh', '-c', 'exit 3'], {
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  const [status] = (await once(child, 'exit')) as [number];
  assert.equal(status, 3);
  child.stdin.end();
});
