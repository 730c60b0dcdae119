import assert from 'node:assert/strict';
import { test } from 'node:test';
import { installCommand } from '../../src/logic/install.ts';

test('with a chosen Python the command installs into its environment', () => {
  assert.equal(
    installCommand('/w/.venv/bin/python', '/home/ada', false),
    '/w/.venv/bin/python -m pip install codeserve',
  );
});

test('a path with blanks and quotes is one word to the shell', () => {
  assert.equal(
    installCommand("/home/o'neil x/bin/python", '/home/ada', false),
    `'/home/o'"'"'neil x/bin/python' -m pip install codeserve`,
  );
});

test('PowerShell calls a quoted program by &', () => {
  assert.match(
    installCommand('C:\\Program Files\\python.exe', 'C:\\', true),
    /^& 'C:\\Program Files\\python.exe' -m/,
  );
});

test('without a chosen Python it makes an environment where the extension looks for it', () => {
  assert.equal(
    installCommand(undefined, '/home/ada', false),
    'python3 -m venv /home/ada/.codeserve/venv && /home/ada/.codeserve/venv/bin/python -m pip install codeserve',
  );
});
