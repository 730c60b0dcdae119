import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { disabledReason, languageOn, readLanguages, toggled } from '../../src/logic/languages.ts';

test('a language has its own entry, else the one of *, else it is on', () => {
  assert.equal(languageOn({}, 'python'), true);
  assert.equal(languageOn({ '*': false }, 'python'), false);
  assert.equal(languageOn({ '*': false, python: true }, 'python'), true);
});

test('of a setting of the wrong type only what is right counts', () => {
  for (const wrong of [null, undefined, 3, 'python', true, []]) {
    assert.deepEqual(readLanguages(wrong), {});
  }
  assert.deepEqual(readLanguages({ python: false, go: 'no', c: null, '*': true }), {
    python: false,
    '*': true,
  });
});

test('toggling twice leaves the setting as it was', () => {
  for (const before of [{}, { '*': false }, { markdown: false }]) {
    assert.deepEqual(toggled(toggled(before, {}, 'python'), {}, 'python'), before);
  }
});

test('toggling changes the one language only', () => {
  assert.deepEqual(toggled({ markdown: false }, {}, 'python'), { markdown: false, python: false });
  assert.deepEqual(toggled({ '*': false }, {}, 'python'), { '*': false, python: true });
});

test('toggling for a workspace holds against what the user has set for all', () => {
  assert.deepEqual(toggled({ markdown: false }, { python: false }, 'python'), {
    markdown: false,
    python: true,
  });
  assert.deepEqual(toggled({ python: true }, { python: false }, 'python'), {});
  assert.deepEqual(toggled({}, { go: false }, 'python'), { python: false });
});

test('a language that is off by default is switched on, and off again', () => {
  const defaults = { markdown: false };
  assert.deepEqual(toggled({}, defaults, 'markdown'), { markdown: true });
  assert.deepEqual(toggled({ markdown: true }, defaults, 'markdown'), {});
});

test('by default prose is off and code is on, also where the rest is named', async () => {
  const file = await readFile(new URL('../../package.json', import.meta.url), 'utf8');
  const { contributes } = JSON.parse(file) as {
    contributes: { configuration: { properties: Record<string, { default: unknown }> } };
  };
  const defaults = readLanguages(contributes.configuration.properties['codeserve.languages']?.default);
  for (const languages of [defaults, { ...defaults, '*': true }]) {
    for (const id of ['markdown', 'plaintext', 'git-commit', 'git-rebase']) {
      assert.equal(languageOn(languages, id), false, id);
    }
    for (const id of ['python', 'typescript', 'html', 'latex', 'yaml']) {
      assert.equal(languageOn(languages, id), true, id);
    }
  }
});

test('off everywhere, off in a language, on', () => {
  assert.equal(disabledReason(false, {}, 'python'), 'Switched off everywhere.');
  assert.equal(disabledReason(true, { python: false }, 'python'), 'Switched off for python.');
  assert.equal(disabledReason(true, { python: false }, undefined), '');
  assert.equal(disabledReason(true, {}, 'python'), '');
});
