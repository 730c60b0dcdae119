import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readLogLine } from '../../src/logic/logLine.ts';

test('a line has the level that the language server gave it', () => {
  assert.deepEqual(readLogLine('2026-01-01 10:00:00,000 WARNING codeserve_lsp.session: setting mode: bad'), {
    level: 'warn',
    text: 'codeserve_lsp.session: setting mode: bad',
  });
});

test('anything else is an error, unchanged', () => {
  for (const line of ['Traceback (most recent call last):', '  File "x", line 1', '']) {
    assert.deepEqual(readLogLine(line), { level: 'error', text: line });
  }
});
