/** The language server's log, as `codeserve_lsp/cli.py` formats it. */

export interface LogLine {
  readonly level: 'error' | 'warn' | 'info' | 'debug';
  readonly text: string;
}

const LEVELS: ReadonlyMap<string, LogLine['level']> = new Map([
  ['CRITICAL', 'error'],
  ['ERROR', 'error'],
  ['WARNING', 'warn'],
  ['INFO', 'info'],
  ['DEBUG', 'debug'],
]);

/** `DATE TIME LEVEL name: message`; any other line is part of a traceback. */
export function readLogLine(line: string): LogLine {
  const [, word = '', text = ''] = /^\S+ \S+ ([A-Z]+) (.*)$/.exec(line) ?? [];
  const level = LEVELS.get(word);
  return level === undefined ? { level: 'error', text: line } : { level, text };
}
