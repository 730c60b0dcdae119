import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formerKeys, tokenKey } from '../../src/logic/tokenKey.ts';

test('one server has one key, however its address is written', () => {
  const key = tokenKey('wss://code.example');
  for (const url of [
    'wss://code.example/',
    'wss://code.example:443',
    ' WSS://Code.Example// ',
    'wss://me:secret@code.example',
    'wss://code.example#top',
  ]) {
    assert.equal(tokenKey(url), key);
  }
});

test('another scheme, host, port, path or query is another server', () => {
  const urls = ['wss://h', 'ws://h', 'wss://g', 'wss://h:8443', 'wss://h/team', 'wss://h/?team=1'];
  assert.equal(new Set(urls.map(tokenKey)).size, urls.length);
});

test('what is no address is a key all the same', () => {
  assert.equal(tokenKey('no address'), 'token no address');
  assert.deepEqual(formerKeys('no address'), ['token no address/']);
});

test('a token that was stored for the address as it was written is found', () => {
  assert.ok(formerKeys('wss://H').includes('token wss://H'));
  assert.ok(formerKeys('wss://h').includes('token wss://h/'));
  assert.ok(formerKeys('wss://h/').includes('token wss://h/'));
  assert.ok(!formerKeys('wss://h/').includes(tokenKey('wss://h/')));
});
