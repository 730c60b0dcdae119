/** The latency view: a panel with a bar for each of the last answers. */

import { randomBytes } from 'node:crypto';
import * as vscode from 'vscode';
import { chart, type Chart } from './logic/latency.ts';
import { statistics, statisticsLines } from './logic/statistics.ts';
import { budgetMs } from './settings.ts';
import type { State } from './state.ts';

/** What `media/latency.js` is sent. */
interface Message {
  readonly chart: Chart;
  readonly lines: readonly string[];
}

/** Answers may come with each keystroke; the view need not. */
const REFRESH_MS = 250;

export class LatencyView implements vscode.Disposable {
  private panel: vscode.WebviewPanel | undefined;
  private timer: NodeJS.Timeout | undefined;
  private readonly subscription: vscode.Disposable;

  private readonly extension: vscode.Uri;
  private readonly state: State;

  constructor(extension: vscode.Uri, state: State) {
    this.extension = extension;
    this.state = state;
    this.subscription = state.onDidMeasure(() => {
      if (this.panel !== undefined) {
        this.timer ??= setTimeout(() => {
          this.send();
        }, REFRESH_MS);
      }
    });
  }

  show(): void {
    if (this.panel !== undefined) {
      this.panel.reveal();
      return;
    }
    const media = vscode.Uri.joinPath(this.extension, 'media');
    const panel = vscode.window.createWebviewPanel(
      'codeserve.latency',
      'codeserve: Latency',
      { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true },
      { enableScripts: true, localResourceRoots: [media] },
    );
    this.panel = panel;
    panel.onDidDispose(() => (this.panel = undefined));
    // it asks once it has loaded, and again each time it was hidden
    panel.webview.onDidReceiveMessage(() => {
      this.send();
    });
    panel.webview.html = page(panel.webview, media);
  }

  dispose(): void {
    clearTimeout(this.timer);
    this.subscription.dispose();
    this.panel?.dispose();
  }

  private send(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    const { history } = this.state;
    const message: Message = {
      chart: chart(history.entries(), budgetMs()),
      lines: statisticsLines(statistics(history)),
    };
    void this.panel?.webview.postMessage(message);
  }
}

function page(webview: vscode.Webview, media: vscode.Uri): string {
  const nonce = randomBytes(16).toString('base64');
  const file = (name: string): string => webview.asWebviewUri(vscode.Uri.joinPath(media, name)).toString();
  const policy = `default-src 'none'; style-src ${webview.cspSource}; script-src 'nonce-${nonce}'`;
  return `<!DOCTYPE html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta http-equiv="Content-Security-Policy" content="${policy}">
    <link rel="stylesheet" href="${file('latency.css')}">
    <title>Latency</title>
  </head>
  <body>
    <h1>Where the time of the last answers went</h1>
    <p id="statistics"></p>
    <ul id="legend"></ul>
    <svg id="chart" role="img" aria-label="A bar of stages for each answer, newest first"></svg>
    <script nonce="${nonce}" src="${file('latency.js')}"></script>
  </body>
</html>`;
}
