/** Where the programs of codeserve may be, most wanted first. */

import path from 'node:path';

export interface Surroundings {
  /** The setting, '' for none. */
  readonly setting: string;
  /** The interpreter that the Python extension has chosen. */
  readonly interpreter: string | undefined;
  /** Folders of the workspace; none where it is not trusted, since a folder's .venv could hold anything. */
  readonly folders: readonly string[];
  readonly home: string;
  /** The variable PATH. */
  readonly path: string;
  readonly windows: boolean;
}

export interface Candidate {
  readonly file: string;
  /** For people: where it comes from. */
  readonly source: string;
}

/** Where the install command of `install.ts` puts codeserve when no Python environment was chosen. */
export function ownEnvironment(home: string): string {
  return path.join(home, '.codeserve', 'venv');
}

/** The folder of a Python environment that holds its programs. */
export function binFolder(environment: string, windows: boolean): string {
  return path.join(environment, windows ? 'Scripts' : 'bin');
}

function program(folder: string, name: string, windows: boolean): string {
  return path.join(folder, windows ? `${name}.exe` : name);
}

/** A leading `~` is the user's home, as a shell has it. */
export function expandHome(file: string, home: string): string {
  return file === '~' || file.startsWith('~/') ? path.join(home, file.slice(1)) : file;
}

/** Every place to look for `codeserve-lsp`. With the setting it is the only one: a wrong one should show. */
export function candidates(around: Surroundings): Candidate[] {
  if (around.setting !== '') {
    const file = expandHome(around.setting, around.home);
    const source = 'the setting codeserve.languageServerPath';
    // a relative one would mean the working directory, which may be a workspace that nobody trusts
    return path.isAbsolute(file) ? [{ file, source }] : [];
  }
  const found: Candidate[] = [];
  const add = (folder: string, source: string): void => {
    found.push({ file: program(folder, 'codeserve-lsp', around.windows), source });
  };
  if (around.interpreter !== undefined) {
    const folder = path.dirname(around.interpreter);
    add(folder, 'the chosen Python environment');
    if (around.windows) {
      add(binFolder(folder, true), 'the chosen Python environment'); // of conda, or Python's own installer
    }
  }
  for (const folder of around.folders) {
    add(binFolder(path.join(folder, '.venv'), around.windows), 'the .venv of the workspace');
  }
  for (const folder of around.path.split(path.delimiter).filter((each) => path.isAbsolute(each))) {
    add(folder, 'PATH');
  }
  add(binFolder(ownEnvironment(around.home), around.windows), '~/.codeserve/venv');
  return found;
}

/** The first candidate that can be run. */
export async function firstRunnable(
  all: readonly Candidate[],
  runnable: (file: string) => Promise<boolean>,
): Promise<Candidate | undefined> {
  for (const candidate of all) {
    if (await runnable(candidate.file)) {
      return candidate;
    }
  }
  return undefined;
}

/**
 * The interpreter that a script names, of which `head` is the beginning; undefined where it names none by its path.
 * A path that is long or holds spaces pip writes into a shell's second line.
 */
export function interpreterOf(head: string): string | undefined {
  const [first = '', second = ''] = head.split('\n', 2);
  const [, named] = /^#! *(\/\S+)/.exec(first) ?? [];
  const [, quoted, plain] =
    /^'''exec' (?:"(\/[^"$]+)"|(\/\S+)) /.exec(named === '/bin/sh' ? second : '') ?? [];
  return quoted ?? plain ?? named;
}

/** The server's program, beside the language server's: one distribution brings both. */
export function serverBeside(languageServer: string, windows: boolean): string {
  return program(path.dirname(languageServer), 'codeserve', windows);
}
