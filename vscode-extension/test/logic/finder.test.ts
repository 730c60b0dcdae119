import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  candidates,
  expandHome,
  firstRunnable,
  interpreterOf,
  serverBeside,
  type Surroundings,
} from '../../src/logic/finder.ts';

const NOWHERE: Surroundings = {
  setting: '',
  interpreter: undefined,
  folders: [],
  home: '/home/ada',
  path: '',
  windows: false,
};

test('the setting is the only place when it is set', () => {
  const found = candidates({
    ...NOWHERE,
    setting: '~/tools/codeserve-lsp',
    path: '/usr/bin',
    folders: ['/w'],
  });
  assert.deepEqual(found, [
    { file: '/home/ada/tools/codeserve-lsp', source: 'the setting codeserve.languageServerPath' },
  ]);
});

test('the chosen Python comes before the .venv of the workspace, that before the PATH, the own one last', () => {
  const found = candidates({
    ...NOWHERE,
    interpreter: '/envs/x/bin/python',
    folders: ['/w', '/v'],
    path: '/usr/local/bin:/usr/bin',
  });
  assert.deepEqual(
    found.map(({ file }) => file),
    [
      '/envs/x/bin/codeserve-lsp',
      '/w/.venv/bin/codeserve-lsp',
      '/v/.venv/bin/codeserve-lsp',
      '/usr/local/bin/codeserve-lsp',
      '/usr/bin/codeserve-lsp',
      '/home/ada/.codeserve/venv/bin/codeserve-lsp',
    ],
  );
});

test('relative and empty entries of the PATH are left out: they mean the working directory', () => {
  const files = candidates({ ...NOWHERE, path: ':.:bin:/usr/bin' }).map(({ file }) => file);
  assert.deepEqual(files, ['/usr/bin/codeserve-lsp', '/home/ada/.codeserve/venv/bin/codeserve-lsp']);
});

test('on Windows programs have another name and folder', () => {
  const files = candidates({ ...NOWHERE, folders: ['/w'], windows: true }).map(({ file }) => file);
  assert.equal(files[0], '/w/.venv/Scripts/codeserve-lsp.exe');
});

test('on Windows a Python that is in no folder of its own has its programs in one beside it', () => {
  const around = { ...NOWHERE, interpreter: '/conda/python.exe' };
  assert.deepEqual(
    candidates({ ...around, windows: true })
      .slice(0, 2)
      .map(({ file }) => file),
    ['/conda/codeserve-lsp.exe', '/conda/Scripts/codeserve-lsp.exe'],
  );
  assert.ok(!candidates(around).some(({ file }) => file.includes('Scripts')));
});

test('a relative path in the setting is no place: it would mean the working directory', () => {
  for (const setting of ['codeserve-lsp', './codeserve-lsp', 'bin/codeserve-lsp', '~eve/codeserve-lsp']) {
    assert.deepEqual(candidates({ ...NOWHERE, setting, path: '/usr/bin' }), []);
  }
});

test('the first that can be run is taken', async () => {
  const all = ['/a', '/b', '/c'].map((file) => ({ file, source: '' }));
  const found = await firstRunnable(all, (file) => Promise.resolve(file !== '/a'));
  assert.equal(found?.file, '/b');
  assert.equal(await firstRunnable(all, () => Promise.resolve(false)), undefined);
});

test('a tilde is the home folder only at the start of a path', () => {
  assert.equal(expandHome('~/x', '/home/ada'), '/home/ada/x');
  assert.equal(expandHome('~', '/home/ada'), '/home/ada');
  assert.equal(expandHome('/x/~', '/home/ada'), '/x/~');
  assert.equal(expandHome('~eve/x', '/home/ada'), '~eve/x');
});

test('the interpreter of a script is the one that pip wrote into it, in either way', () => {
  assert.equal(
    interpreterOf('#!/w/.venv/bin/python3.11\n# -*- coding: utf-8 -*-\n'),
    '/w/.venv/bin/python3.11',
  );
  assert.equal(interpreterOf('#! /usr/bin/env python3\n'), '/usr/bin/env');
  const long = `#!/bin/sh\n'''exec' "/home/ada b/.venv/bin/python" "$0" "$@"\n' '''\n`;
  assert.equal(interpreterOf(long), '/home/ada b/.venv/bin/python');
  assert.equal(interpreterOf(`#!/bin/sh\n'''exec' /w/long/python "$0" "$@"\n`), '/w/long/python');
  assert.equal(interpreterOf('#!/bin/sh\nexec "$(dirname "$0")/python" "$@"\n'), '/bin/sh');
  assert.equal(interpreterOf('\x7fELF\x02\x01'), undefined);
  assert.equal(interpreterOf(''), undefined);
});

test('the server is looked for beside the language server', () => {
  assert.equal(serverBeside('/w/.venv/bin/codeserve-lsp', false), '/w/.venv/bin/codeserve');
});
