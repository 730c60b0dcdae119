/** The status bar item and the language status item: the same state in two places. */

import * as vscode from 'vscode';
import { DOCUMENTS, served } from './documents.ts';
import { whyOff } from './logic/here.ts';
import { statistics, statisticsLines } from './logic/statistics.ts';
import { barText, view, type View, withoutLinks } from './logic/status.ts';
import { enabled, INLINE_SUGGEST, inlineSuggest, languages, SECTION } from './settings.ts';
import type { State } from './state.ts';

/** Commands that the tooltip links to. */
const LINKS = new Map([
  ['codeserve.showLatency', 'Show Latency'],
  ['codeserve.toggleLanguage', 'Toggle for This Language'],
  ['codeserve.showLog', 'Show Log'],
]);

export class StatusItems implements vscode.Disposable {
  private readonly bar = vscode.window.createStatusBarItem(
    'codeserve.status',
    vscode.StatusBarAlignment.Right,
    100,
  );
  private readonly language = vscode.languages.createLanguageStatusItem('codeserve.status', DOCUMENTS);
  private readonly state: State;
  private readonly subscriptions: vscode.Disposable[];

  constructor(state: State) {
    this.state = state;
    this.bar.name = 'codeserve';
    this.bar.command = 'codeserve.showMenu';
    this.language.name = 'codeserve';
    this.language.command = { command: 'codeserve.showMenu', title: 'Actions' };
    const update = (): void => {
      this.update();
    };
    this.subscriptions = [
      this.bar,
      this.language,
      state.onDidChange(update),
      state.onDidMeasure(() => {
        this.bar.tooltip = this.tooltip(this.view());
      }),
      vscode.window.onDidChangeActiveTextEditor(update),
      vscode.workspace.onDidOpenTextDocument(update), // also one that has another language now
      vscode.workspace.onDidChangeConfiguration((event) => {
        if ([SECTION, INLINE_SUGGEST].some((name) => event.affectsConfiguration(name))) {
          update();
        }
      }),
    ];
    this.update();
    this.bar.show();
  }

  dispose(): void {
    vscode.Disposable.from(...this.subscriptions).dispose();
  }

  private disabled(): string {
    const document = vscode.window.activeTextEditor?.document;
    const place = document && {
      languageId: document.languageId,
      scheme: document.uri.scheme,
      served: served(document),
      excluded: this.state.excluded.has(document.uri.toString()),
    };
    return whyOff(
      { enabled: enabled(), inlineSuggest: inlineSuggest(document), languages: languages() },
      place,
    );
  }

  private view(): View {
    const { languageServer: process, server, thinking } = this.state;
    return view({ process, server, thinking, disabled: this.disabled() });
  }

  private update(): void {
    const shown = this.view();
    this.bar.text = barText(shown);
    this.bar.tooltip = this.tooltip(shown);
    this.bar.accessibilityInformation = { label: `codeserve: ${shown.state}. ${shown.detail}` };
    this.language.text = shown.state;
    this.language.detail = withoutLinks(shown.detail); // the server's words may be in it
    this.language.busy = shown.state === 'thinking';
    this.language.severity = shown.trouble
      ? vscode.LanguageStatusSeverity.Warning
      : vscode.LanguageStatusSeverity.Information;
  }

  private tooltip({ detail }: View): vscode.MarkdownString {
    const tooltip = new vscode.MarkdownString('', true);
    tooltip.isTrusted = { enabledCommands: [...LINKS.keys()] };
    const { server } = this.state;
    const lines = [`codeserve: ${detail}`];
    if (server?.model) {
      lines.push(`Model: ${server.model}`);
    }
    lines.push(...statisticsLines(statistics(this.state.history)));
    for (const line of lines) {
      tooltip.appendText(line); // what the server says is never taken as Markdown
      tooltip.appendMarkdown('\n\n');
    }
    tooltip.appendMarkdown(
      [...LINKS].map(([command, title]) => `[${title}](command:${command})`).join(' · '),
    );
    return tooltip;
  }
}
