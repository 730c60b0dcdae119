import assert from 'node:assert/strict';
import { test } from 'node:test';
import { barText, type Situation, view, withoutLinks } from '../../src/logic/status.ts';
import { status } from './samples.ts';

const READY: Situation = { process: 'running', server: status('ready'), thinking: false, disabled: '' };

test('ready says no more than the name', () => {
  assert.equal(view(READY).state, 'ready');
  assert.equal(barText(view(READY)), '$(sparkle) codeserve');
});

test('a completion that takes its time shows', () => {
  assert.equal(view({ ...READY, thinking: true }).state, 'thinking');
});

test('off here goes before everything else', () => {
  const shown = view({ ...READY, process: 'missing', thinking: true, disabled: 'Switched off everywhere.' });
  assert.equal(shown.state, 'disabled');
  assert.equal(barText(shown), '$(circle-slash) codeserve: off');
  assert.equal(shown.detail, 'Switched off everywhere.');
});

test('each way of being offline says why', () => {
  const cases: [Partial<Situation>, string, string][] = [
    [{ process: 'missing' }, 'not installed', 'The language server codeserve-lsp was not found.'],
    [{ process: 'stopped' }, 'stopped', 'The language server has stopped; the log says more.'],
    [{ process: 'silent' }, 'no answer', 'The language server did not answer; the log may say why.'],
    [{ server: undefined }, 'starting', 'The language server is starting.'],
    [{ server: status('connecting') }, 'connecting', 'Connecting to ws://127.0.0.1:8760.'],
    [
      { server: status('loading', "the server's model is starting") },
      'loading the model',
      "The server's model is starting.",
    ],
    [{ server: status('offline', 'nothing answers') }, 'offline', 'Nothing answers.'],
    [{ server: status('offline') }, 'offline', 'There is no connection to the server.'],
    [
      { server: status('unauthorized') },
      'token needed',
      'The server asks for a token, or for another one: enter it with "Set Token".',
    ],
    [{ server: status('misconfigured', 'not a URL.') }, 'check the settings', 'Not a URL.'],
    [{ server: status('a state of a later version') }, 'offline', 'There is no connection to the server.'],
  ];
  for (const [given, label, detail] of cases) {
    const shown = view({ ...READY, ...given });
    assert.equal(shown.state, 'offline');
    assert.equal(shown.label, label);
    assert.equal(shown.detail, detail);
  }
});

test('only what someone should do something about is trouble', () => {
  const trouble = ['offline', 'unauthorized', 'misconfigured', 'loading', 'connecting'].filter(
    (state) => view({ ...READY, server: status(state) }).trouble,
  );
  assert.deepEqual(trouble, ['offline', 'unauthorized', 'misconfigured']);
});

test('what the server says makes no link', () => {
  assert.equal(withoutLinks('[fix it](command:x) [y](z)'), '[fix it] (command:x) [y] (z)');
});
