/** What `codeserve serve` writes to standard error while it starts. */

export type Line =
  | { readonly kind: 'stage'; readonly stage: string }
  | { readonly kind: 'ready' }
  | { readonly kind: 'other'; readonly text: string };

/** Reads one line. A stage is `  1.2 s  loading weights`, as `codeserve/commands/startup.py` prints it. */
export function readLine(line: string): Line {
  const stage = /^\s*\d+\.\d s {2}(\S.*)$/.exec(line)?.[1];
  if (stage !== undefined) {
    return { kind: 'stage', stage: stage.trimEnd() };
  }
  if (/^ready after \d+ s: /.test(line)) {
    return { kind: 'ready' };
  }
  return { kind: 'other', text: line.trim() };
}

/** Cuts a stream into lines; `feed` gives those that have ended. */
export class Lines {
  private rest = '';

  feed(chunk: string): string[] {
    const lines = (this.rest + chunk).split(/\r?\n/);
    this.rest = lines.pop() ?? '';
    return lines;
  }
}

/** Longer than a server takes that lets go of what it has under way, with an engine that answers. */
export const GRACE_S = 20;

/**
 * A shell script that runs `"$@"` and ends it when standard input ends, however this side comes to its end: asked
 * to at first, and with all that it has started where it is not gone after `graceS` seconds.
 *
 * To be run by a shell that leads a process group. The program's own standard input is empty. The exit status is
 * the program's.
 */
export function untilEof(graceS = GRACE_S): string {
  return [
    'exec 3<&0',
    '"$@" 3<&- </dev/null & program=$!',
    '(',
    '  cat <&3 >/dev/null',
    '  kill "$program" 2>/dev/null',
    `  sleep ${graceS}`,
    '  kill -s KILL -- "-$$"',
    ') &',
    'exec 3<&-',
    'wait "$program"; status=$?',
    // what it has left behind, and the watch above
    'trap "" TERM; kill -s TERM -- "-$$"',
    'exit "$status"',
  ].join('\n');
}

const MAX_PORT = 65_535;

/** Where a local server would listen, undefined when `url` names another machine, a path, TLS or no port that there is. */
export function localAddress(url: string): { host: string; port: number } | undefined {
  const match = /^ws:\/\/(127\.0\.0\.1|localhost|\[::1\])(?::(\d{1,5}))?\/?$/i.exec(url.trim());
  const [, host, digits = '80'] = match ?? [];
  const port = Number(digits);
  if (host === undefined || port === 0 || port > MAX_PORT) {
    return undefined;
  }
  return { host: host.replace(/[[\]]/g, '').toLowerCase(), port };
}
