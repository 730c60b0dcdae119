import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { installCommand } from '../../src/logic/install.ts';

const WHEEL = '/x/codeserve-1.0-py3-none-any.whl';
const POSIX = { wheel: WHEEL, interpreter: undefined, home: '/home/ada', windows: false };
const WINDOWS = { wheel: 'C:\\x\\c.whl', interpreter: undefined, home: 'C:\\ada', windows: true };

test('with a chosen Python the command installs the wheel into its environment', () => {
  assert.equal(
    installCommand({ ...POSIX, interpreter: '/w/.venv/bin/python' }),
    `/w/.venv/bin/python -m pip install ${WHEEL}`,
  );
});

test('without a chosen Python it makes an environment where the extension looks for it', () => {
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
      const command = installCommand({ ...POSIX, wheel, interpreter: '/bin/echo' });
      const { stdout } = await promisify(execFile)('/bin/sh', ['-c', command]);
      assert.equal(stdout, `-m pip install ${wheel}\n`);
    }
  },
);

test('PowerShell calls a quoted program by &, and doubles a quote', () => {
  assert.equal(
    installCommand({ ...WINDOWS, interpreter: "C:\\o'neil x\\python.exe" }),
    `& 'C:\\o''neil x\\python.exe' -m pip install C:\\x\\c.whl`,
  );
  assert.equal(
    installCommand({ ...WINDOWS, interpreter: 'C:\\O\u2019Neil\\python.exe' }),
    `& 'C:\\O\u2019\u2019Neil\\python.exe' -m pip install C:\\x\\c.whl`,
  );
  assert.equal(
    installCommand({ ...WINDOWS, interpreter: 'C:\\py\\python.exe' }),
    'C:\\py\\python.exe -m pip install C:\\x\\c.whl',
  );
});

test('on Windows the environment is made by the launcher', () => {
  const command = installCommand({ ...WINDOWS, home: 'C:\\Ada B', wheel: 'C:\\Ada B\\c.whl' });
  assert.match(command, /^py -m venv 'C:\\Ada B.*'; & 'C:\\Ada B.*' -m pip install 'C:\\Ada B\\c.whl'$/);
});
