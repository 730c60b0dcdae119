import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { installCommand } from '../../src/logic/install.ts';

const WHEEL = '/x/codeserve-1.0-py3-none-any.whl';
const POSIX = { wheel: WHEEL, home: '/home/ada', windows: false };
const WINDOWS = { wheel: 'C:\\x\\c.whl', home: 'C:\\ada', windows: true };

test('the command makes an environment where the extension looks for it', () => {
  assert.equal(
    installCommand(POSIX),
    `python3 -m venv /home/ada/.codeserve/venv && /home/ada/.codeserve/venv/bin/python -m pip install ${WHEEL}`,
  );
});

test(
  'a path with whatever is in it is one word to the shell',
  { skip: process.platform === 'win32' },
  async () => {
    for (const odd of [`o'neil x`, 'a$HOME', 'a\\b', 'a;b', 'a"b']) {
      const wheel = `/${odd}/c.whl`;
      const [, install] = installCommand({ ...POSIX, wheel }).split(' && ');
      const { stdout } = await promisify(execFile)('/bin/sh', ['-c', `printf '%s|' ${install ?? ''}`]);
      assert.equal(stdout, `/home/ada/.codeserve/venv/bin/python|-m|pip|install|${wheel}|`);
    }
  },
);

test('PowerShell calls a quoted program by &, and doubles a quote', () => {
  assert.match(
    installCommand({ ...WINDOWS, home: "C:\\o'neil x" }),
    /; & 'C:\\o''neil x[^']*python' -m pip install C:\\x\\c\.whl$/,
  );
  assert.match(
    installCommand({ ...WINDOWS, home: 'C:\\O\u2019Neil' }),
    /; & 'C:\\O\u2019\u2019Neil[^']*python' -m pip install/,
  );
  assert.match(installCommand(WINDOWS), /; C:\\ada[^' ]*python -m pip install C:\\x\\c\.whl$/);
});

test('on Windows the environment is made by the launcher', () => {
  const command = installCommand({ ...WINDOWS, home: 'C:\\Ada B', wheel: 'C:\\Ada B\\c.whl' });
  assert.match(command, /^py -m venv 'C:\\Ada B.*'; & 'C:\\Ada B.*' -m pip install 'C:\\Ada B\\c.whl'$/);
});
