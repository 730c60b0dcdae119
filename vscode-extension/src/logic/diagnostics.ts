/** The text of "Copy Diagnostics": what a helper needs to know, without source code, file names or tokens. */

import type { ServerStatus } from './messages.ts';
import { type Statistics, statisticsLines } from './statistics.ts';

export interface Facts {
  readonly extension: string;
  readonly editor: string;
  readonly platform: string;
  readonly remote: string;
  readonly languageServer: string;
  readonly process: string;
  readonly server: ServerStatus | undefined;
  readonly tokenStored: boolean;
  readonly settings: Readonly<Record<string, unknown>>;
  readonly statistics: Statistics;
  /** Counters of the language server, undefined when it does not answer. */
  readonly counters: unknown;
}

/** A URL without what may be a secret in it: name and password, query and fragment. */
export function shownUrl(url: string): string {
  try {
    const parsed = new URL(url);
    return `${parsed.protocol}//${parsed.host}${parsed.pathname === '/' ? '' : parsed.pathname}`;
  } catch {
    return '(not a URL)';
  }
}

function shownSetting(name: string, value: unknown): string {
  if (name === 'serverUrl') {
    return shownUrl(String(value));
  }
  if (name === 'caFile' && Boolean(value)) {
    return '(set)';
  }
  return JSON.stringify(value);
}

export function diagnostics(facts: Facts): string {
  const { server } = facts;
  const settings = Object.entries(facts.settings).map(
    ([name, value]) => `  ${name}: ${shownSetting(name, value)}`,
  );
  return [
    `codeserve extension ${facts.extension}`,
    `editor: ${facts.editor} on ${facts.platform}${facts.remote === '' ? '' : `, remote: ${facts.remote}`}`,
    `language server: ${facts.languageServer} (${facts.process})`,
    `server: ${server?.state ?? 'unknown'}${server?.model ? `, model ${server.model}` : ''}`,
    `token stored: ${facts.tokenStored ? 'yes' : 'no'}`,
    ...statisticsLines(facts.statistics),
    `counters: ${JSON.stringify(facts.counters ?? null)}`,
    'settings:',
    ...settings,
    '',
  ].join('\n');
}
