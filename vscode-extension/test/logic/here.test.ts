import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Place, type Switches, whyOff } from '../../src/logic/here.ts';

const ON: Switches = { enabled: true, inlineSuggest: true, languages: {} };
const FILE: Place = { languageId: 'python', scheme: 'file', served: true, excluded: false };

test('nothing is said where there are completions, and without an editor', () => {
  assert.equal(whyOff(ON, FILE), '');
  assert.equal(whyOff({ ...ON, languages: { '*': false } }, undefined), '');
});

test('each reason says what it is about', () => {
  const cases: [Switches, Place | undefined, RegExp][] = [
    [{ ...ON, enabled: false }, undefined, /^Switched off everywhere\.$/],
    [{ ...ON, inlineSuggest: false }, FILE, /editor\.inlineSuggest\.enabled is off/],
    [{ ...ON, inlineSuggest: false }, undefined, /editor\.inlineSuggest\.enabled is off/],
    [ON, { ...FILE, scheme: 'git', served: false }, /^Not offered in this kind of document \(git\)/],
    [{ ...ON, languages: { python: false } }, FILE, /^Switched off for python\.$/],
    [ON, { ...FILE, excluded: true }, /stays on this machine/],
  ];
  for (const [switches, place, reason] of cases) {
    assert.match(whyOff(switches, place), reason);
  }
});

test('what holds everywhere is said before what holds here', () => {
  const nowhere: Place = { ...FILE, served: false, excluded: true };
  const off: Switches = { enabled: false, inlineSuggest: false, languages: { python: false } };
  assert.match(whyOff(off, nowhere), /everywhere/);
  assert.match(whyOff({ ...off, enabled: true }, nowhere), /inlineSuggest/);
  assert.match(whyOff({ ...off, enabled: true, inlineSuggest: true }, nowhere), /kind of document/);
  assert.match(
    whyOff({ ...off, enabled: true, inlineSuggest: true }, { ...nowhere, served: true }),
    /for python/,
  );
});
