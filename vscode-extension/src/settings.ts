/** The user's settings, and what of them goes to the language server. */

import * as vscode from 'vscode';
import { type Languages, readLanguages, toggled } from './logic/languages.ts';

export const SECTION = 'codeserve';
/** VS Code's own: whether editors show suggestions as ghost text. */
export const INLINE_SUGGEST = 'editor.inlineSuggest';
export const DEFAULT_URL = 'ws://127.0.0.1:8760';

/** What the language server is told, by the names that both sides have. Nothing else goes to it. */
const FOR_LANGUAGE_SERVER = [
  'enabled',
  'serverUrl',
  'caFile',
  'budgetMs',
  'mode',
  'candidates',
  'languages',
  'triggers',
  'prefetch',
  'prewarm',
  'openFiles',
  'imports',
  'contextChars',
  'maxFileBytes',
] as const;

function section(): vscode.WorkspaceConfiguration {
  return vscode.workspace.getConfiguration(SECTION);
}

export function forLanguageServer(): Record<string, unknown> {
  const settings = section();
  return Object.fromEntries(FOR_LANGUAGE_SERVER.map((name) => [name, settings.get<unknown>(name)]));
}

/** A value over the one below it, as VS Code has it: of objects each entry by itself. */
function laidOver(value: unknown, below: unknown): unknown {
  const objects = [value, below].every((each) => typeof each === 'object' && each !== null);
  return objects ? { ...(below as object), ...(value as object) } : (value ?? below);
}

/**
 * The same as the user has them, whatever the workspace says. The language server takes the server that it is
 * started with for the user's own, to which a token of the environment may go; the workspace's settings follow.
 */
export function ofTheUser(): Record<string, unknown> {
  const settings = section();
  return Object.fromEntries(
    FOR_LANGUAGE_SERVER.map((name) => {
      const found = settings.inspect<unknown>(name);
      return [name, laidOver(found?.globalValue, found?.defaultValue)];
    }),
  );
}

/** A setting that should be a text: in the file of the settings it may be anything. */
function text(name: string, otherwise: string): string {
  const value = section().get<unknown>(name);
  return typeof value === 'string' ? value : otherwise;
}

export function enabled(): boolean {
  return section().get('enabled', true);
}

/** Whether the editor of a document shows suggestions; without one, whether editors do. */
export function inlineSuggest(document: vscode.TextDocument | undefined): boolean {
  return vscode.workspace.getConfiguration(INLINE_SUGGEST, document).get('enabled', true);
}

export function languages(): Languages {
  return readLanguages(section().get<unknown>('languages'));
}

export function serverUrl(): string {
  return text('serverUrl', DEFAULT_URL);
}

export function budgetMs(): number {
  return section().get('budgetMs', 300);
}

export function languageServerPath(): string {
  return text('languageServerPath', '').trim();
}

export function askToInstall(): boolean {
  return section().get('askToInstall', true);
}

export function askToStartServer(): boolean {
  return section().get('askToStartServer', true);
}

/** Change a setting of a window, which no folder can have, where it has a value already; else for the user. */
export async function change(name: string, value: unknown): Promise<void> {
  const settings = section();
  const where =
    settings.inspect(name)?.workspaceValue === undefined
      ? vscode.ConfigurationTarget.Global
      : vscode.ConfigurationTarget.Workspace;
  await settings.update(name, value, where);
}

let changes: Promise<unknown> = Promise.resolve();

/** One after the other: the second of two quick toggles must see what the first has written. */
function inTurn(what: () => Promise<void>): Promise<void> {
  const done = changes.then(what);
  changes = done.catch(() => undefined);
  return done;
}

/** Switch completions everywhere the other way. */
export function toggle(): Promise<void> {
  return inTurn(() => change('enabled', !enabled()));
}

/** Switch completions in a language the other way. */
export function toggleLanguage(id: string): Promise<void> {
  return inTurn(() => switchLanguage(id));
}

async function switchLanguage(id: string): Promise<void> {
  const set = section().inspect<unknown>('languages');
  const defaults = readLanguages(set?.defaultValue);
  const user = readLanguages(set?.globalValue);
  const [own, below] =
    set?.workspaceValue === undefined
      ? [user, defaults]
      : [readLanguages(set.workspaceValue), { ...defaults, ...user }];
  const switched = toggled(own, below, id);
  await change('languages', Object.keys(switched).length > 0 ? switched : undefined);
}
