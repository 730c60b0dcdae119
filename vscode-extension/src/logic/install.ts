/** The command that installs the language server, to be shown in a terminal before it is run. */

import { binFolder, ownEnvironment } from './finder.ts';
import path from 'node:path';

/** What it is about: files of this machine. */
export interface Installation {
  /** The wheel of codeserve that the extension brings: on an index its name may be anybody's. */
  readonly wheel: string;
  readonly home: string;
  readonly windows: boolean;
}

/** One word to a POSIX shell, or to PowerShell; in quotes where it needs them. */
function quoted(word: string, windows: boolean): string {
  if (/^[\w./:\\-]+$/.test(word) && (windows || !word.includes('\\'))) {
    return word;
  }
  // PowerShell takes the typographic quotes for the plain one
  const inside = windows ? word.replaceAll(/['\u2018-\u201b]/g, '$&$&') : word.replaceAll("'", `'"'"'`);
  return `'${inside}'`;
}

/** The word as the program that is to be run. */
function called(program: string, windows: boolean): string {
  const word = quoted(program, windows);
  return windows && word !== program ? `& ${word}` : word;
}

/**
 * One line: into an environment of its own below the home folder, where every window finds it.
 *
 * Not into the chosen Python's: a system's own refuses `pip install`, and a project's is the project's. What the
 * wheel needs comes from the index that pip is set up for; an engine is not among it.
 */
export function installCommand({ wheel, home, windows }: Installation): string {
  const install = `-m pip install ${quoted(wheel, windows)}`;
  const environment = ownEnvironment(home);
  const python = called(path.join(binFolder(environment, windows), 'python'), windows);
  const [base, then] = windows ? ['py', ';'] : ['python3', ' &&'];
  return `${base} -m venv ${quoted(environment, windows)}${then} ${python} ${install}`;
}
