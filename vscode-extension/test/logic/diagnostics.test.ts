import assert from 'node:assert/strict';
import { test } from 'node:test';
import { diagnostics, shownUrl } from '../../src/logic/diagnostics.ts';
import { History } from '../../src/logic/history.ts';
import { statistics } from '../../src/logic/statistics.ts';
import { status } from './samples.ts';

test('a URL loses what may be a secret', () => {
  assert.equal(shownUrl('wss://ada:s3cret@host:9000/team?token=s3cret#s3cret'), 'wss://host:9000/team');
  assert.equal(shownUrl('ws://127.0.0.1:8760'), 'ws://127.0.0.1:8760');
  assert.equal(shownUrl('s3cret'), '(not a URL)');
});

test('a setting of the wrong type gives no secret away', () => {
  const text = diagnostics({
    extension: '',
    editor: '',
    platform: '',
    remote: '',
    languageServer: '',
    process: '',
    server: undefined,
    tokenStored: false,
    settings: { serverUrl: ['wss://s3cret@host'], caFile: ['/home/ada/ca.pem'] },
    statistics: statistics(new History()),
    counters: undefined,
  });
  assert.ok(!/s3cret|ada/.test(text));
});

test('the report has the facts, and no secret of the URL', () => {
  const text = diagnostics({
    extension: '0.1.0',
    editor: 'Code 1.139.1',
    platform: 'linux x64',
    remote: 'ssh-remote',
    languageServer: 'PATH',
    process: 'running',
    server: { ...status('ready'), url: 'wss://ada:s3cret@host' },
    tokenStored: true,
    settings: { serverUrl: 'wss://ada:s3cret@host', budgetMs: 300, caFile: '/home/ada/ca.pem' },
    statistics: statistics(new History()),
    counters: { requests: 3 },
  });
  assert.ok(!text.includes('s3cret'));
  assert.ok(!text.includes('ada'));
  for (const fact of [
    '0.1.0',
    'Code 1.139.1',
    'ssh-remote',
    'PATH',
    'model mini',
    'stored: yes',
    'budgetMs: 300',
    'caFile: (set)',
    '"requests":3',
  ]) {
    assert.ok(text.includes(fact), fact);
  }
});
