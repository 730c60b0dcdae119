/** The command that installs the language server, to be shown in a terminal before it is run. */

import { binFolder, ownEnvironment } from './finder.ts';
import path from 'node:path';

/** Quoted for a POSIX shell and for PowerShell alike, where it needs to be. */
function quoted(word: string): string {
  return /^[\w./:\\-]+$/.test(word) ? word : `'${word.replaceAll("'", `'"'"'`)}'`;
}

/**
 * One line: into the environment of `interpreter`, or into one of its own below the home folder.
 *
 * A system's own Python refuses `pip install` on many systems, hence an environment in any case.
 */
export function installCommand(interpreter: string | undefined, home: string, windows: boolean): string {
  if (interpreter !== undefined) {
    const call = quoted(interpreter);
    return `${windows && call !== interpreter ? '& ' : ''}${call} -m pip install codeserve`;
  }
  const environment = ownEnvironment(home);
  const python = path.join(binFolder(environment, windows), 'python');
  const base = windows ? 'py' : 'python3';
  const then = windows ? ';' : ' &&';
  return `${base} -m venv ${quoted(environment)}${then} ${quoted(python)} -m pip install codeserve`;
}
