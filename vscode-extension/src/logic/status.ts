/** What the status bar says, from what is known. */

import type { ServerStatus } from './messages.ts';

/** The language server's process. */
export type Process = 'missing' | 'starting' | 'running' | 'stopped' | 'silent';

export interface Situation {
  readonly process: Process;
  /** What the language server said last; undefined before it has. */
  readonly server: ServerStatus | undefined;
  /** A completion has been on its way for a noticeable time. */
  readonly thinking: boolean;
  /** Why there are no completions in this editor, '' when there are. */
  readonly disabled: string;
}

export interface View {
  readonly state: 'ready' | 'thinking' | 'offline' | 'disabled';
  /** A codicon, with its modifier. */
  readonly icon: string;
  /** Two or three words behind the name in the status bar, '' when the icon says it all. */
  readonly label: string;
  /** One sentence. */
  readonly detail: string;
  /** Whether someone should do something about it. */
  readonly trouble: boolean;
}

function offline(label: string, detail: string, icon = '$(debug-disconnect)', trouble = true): View {
  return { state: 'offline', icon, label, detail, trouble };
}

const SPIN = '$(loading~spin)';

function processView(process: Process): View | undefined {
  switch (process) {
    case 'missing':
      return offline('not installed', 'The language server codeserve-lsp was not found.');
    case 'starting':
      return offline('starting', 'The language server is starting.', SPIN, false);
    case 'stopped':
      return offline('stopped', 'The language server has stopped; the log says more.');
    case 'silent':
      return offline('no answer', 'The language server did not answer; the log may say why.');
    case 'running':
      return undefined;
  }
}

function sentence(text: string): string {
  const start = /^\w+:\/\//.test(text) ? text.charAt(0) : text.charAt(0).toUpperCase(); // an address stays as it is
  return text === '' ? '' : start + text.slice(1) + (/[.!?]$/.test(text) ? '' : '.');
}

function serverView(server: ServerStatus): View | undefined {
  const reason = sentence(server.reason);
  switch (server.state) {
    case 'ready':
      return undefined;
    case 'loading':
      return offline('loading the model', reason, SPIN, false);
    case 'connecting':
      return offline('connecting', `Connecting to ${server.url}.`, SPIN, false);
    case 'unauthorized':
      return offline(
        'token needed',
        'The server asks for a token, or for another one: enter it with "Set Token".',
        '$(key)',
      );
    case 'misconfigured':
      return offline('check the settings', reason, '$(warning)');
    default:
      return offline('offline', reason || 'There is no connection to the server.');
  }
}

/** The first of these that holds: off here, a process or a connection that is not there, thinking, ready. */
export function view(situation: Situation): View {
  const { process, server, thinking, disabled } = situation;
  if (disabled !== '') {
    return { state: 'disabled', icon: '$(circle-slash)', label: 'off', detail: disabled, trouble: false };
  }
  const starting = offline('starting', 'The language server is starting.', SPIN, false);
  const missing = processView(process) ?? (server === undefined ? starting : serverView(server));
  if (missing !== undefined) {
    return missing;
  }
  if (thinking) {
    return {
      state: 'thinking',
      icon: SPIN,
      label: '',
      detail: 'A completion is on its way.',
      trouble: false,
    };
  }
  return { state: 'ready', icon: '$(sparkle)', label: '', detail: 'Ready.', trouble: false };
}

/** Text for a place where VS Code makes links, to commands too, of `[…](…)`: without any. */
export function withoutLinks(text: string): string {
  return text.replaceAll('](', '] (');
}

/** The text of the status bar item. */
export function barText({ icon, label }: View): string {
  return label === '' ? `${icon} codeserve` : `${icon} codeserve: ${label}`;
}
