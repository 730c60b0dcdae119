/** Copies what a helper needs to know. */

import * as vscode from 'vscode';
import type { Client } from './client.ts';
import type { Find } from './environment.ts';
import { diagnostics } from './logic/diagnostics.ts';
import { statistics } from './logic/statistics.ts';
import { within } from './logic/within.ts';
import { forLanguageServer, serverUrl } from './settings.ts';
import type { State } from './state.ts';
import type { Tokens } from './token.ts';

/** One that hangs does not answer, and that is when these are wanted. */
const STATS_MS = 3_000;

export async function copyDiagnostics(
  context: vscode.ExtensionContext,
  client: Client,
  state: State,
  tokens: Tokens,
  find: Find,
): Promise<void> {
  const { version } = context.extension.packageJSON as { version: string };
  const found = await find();
  const text = diagnostics({
    extension: version,
    editor: `${vscode.env.appName} ${vscode.version}`,
    platform: `${process.platform} ${process.arch}`,
    remote: vscode.env.remoteName ?? '',
    languageServer: found?.source ?? 'not found',
    process: state.languageServer,
    server: state.server,
    tokenStored: (await tokens.get(serverUrl())) !== undefined,
    settings: forLanguageServer(),
    statistics: statistics(state.history),
    counters: await within(STATS_MS, client.ask('codeserve/stats', {})),
  });
  await vscode.env.clipboard.writeText(text);
  void vscode.window.showInformationMessage('Diagnostics copied. They hold no source code and no token.');
}
