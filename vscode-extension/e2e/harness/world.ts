/** Everything that the cases run in: the server with its model, VS Code, a browser, a workspace. */

import assert from 'node:assert/strict';
import { copyFile, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type Browser, type BrowserContext, chromium } from 'playwright-core';
import { CompletionServer } from './completionServer.ts';
import { EditorServer } from './editorServer.ts';
import { ARTIFACTS, CHROMIUM, PICTURES, PYTHON } from './places.ts';
import { until, untilEqual } from './wait.ts';
import { Window } from './window.ts';

/** A machine with two cores runs the model, VS Code and a browser: the usual 300 ms are another matter. */
const PATIENT_MS = 10_000;

export class World {
  private readonly parts: { stop: () => Promise<unknown> }[] = [];
  private folder_: string | undefined;
  private server_: CompletionServer | undefined;
  private editor_: EditorServer | undefined;
  private context_: BrowserContext | undefined;
  private window_: Window | undefined;

  async start(): Promise<void> {
    await mkdir(ARTIFACTS, { recursive: true });
    const folder = await mkdtemp(path.join(tmpdir(), 'codeserve-e2e-'));
    this.folder_ = folder;
    await mkdir(this.workspace);
    await linkEnvironment(this.workspace);
    const server = (this.server_ = await CompletionServer.create(folder));
    const editor = (this.editor_ = new EditorServer(folder));
    this.parts.push(server, editor);
    await Promise.all([server.start(), this.startEditor(editor)]);
    // messages pop up for some seconds only: the window opens when the cases are about to begin
    this.window_ = await this.open(this.workspace);
  }

  private async startEditor(editor: EditorServer): Promise<void> {
    await editor.start(this.settings);
    const browser = await chromium.launch({
      executablePath: CHROMIUM,
      env: editor.env,
      args: [
        '--no-sandbox',
        '--disable-gpu',
        '--disable-background-networking',
        '--disable-component-update',
      ],
    });
    this.parts.unshift({ stop: () => browser.close() });
    this.context_ = await this.browse(browser);
  }

  private async browse(browser: Browser): Promise<BrowserContext> {
    const context = await browser.newContext({ viewport: { width: 1100, height: 700 } });
    await context.grantPermissions(['clipboard-read', 'clipboard-write']);
    await context.route(/^https?:\/\/(?!127\.0\.0\.1[:/])/, (route) => route.abort());
    return context;
  }

  private get settings(): Record<string, unknown> {
    return {
      'codeserve.serverUrl': this.server.url,
      'codeserve.budgetMs': PATIENT_MS,
      // so that an answer depends on its own file alone
      'codeserve.openFiles': false,
      'codeserve.imports': false,
    };
  }

  /** Another window, with a folder open. */
  async open(folder: string): Promise<Window> {
    const page = await this.context.newPage();
    page.setDefaultTimeout(Number(process.env['E2E_TIMEOUT_MS'] ?? 30_000));
    await page.goto(this.editor.url(folder), { timeout: 90_000, waitUntil: 'commit' });
    const window = new Window(page);
    await window.ready();
    return window;
  }

  async stop(): Promise<void> {
    for (const part of this.parts.splice(0)) {
      await part.stop();
    }
    if (this.folder_ !== undefined) {
      await rm(this.folder_, { recursive: true, force: true });
    }
  }

  get folder(): string {
    return defined(this.folder_);
  }

  get workspace(): string {
    return path.join(this.folder, 'workspace');
  }

  get server(): CompletionServer {
    return defined(this.server_);
  }

  get editor(): EditorServer {
    return defined(this.editor_);
  }

  get context(): BrowserContext {
    return defined(this.context_);
  }

  get window(): Window {
    return defined(this.window_);
  }

  /** Write the settings of a workspace, in place of those that it has. */
  async set(settings: Readonly<Record<string, unknown>>, workspace = this.workspace): Promise<void> {
    const folder = path.join(workspace, '.vscode');
    await mkdir(folder, { recursive: true });
    await writeFile(path.join(folder, 'settings.json'), JSON.stringify(settings));
  }

  /** Set the budget in the settings of the workspace and wait until it holds in the window. */
  async budget(budgetMs = PATIENT_MS): Promise<void> {
    await this.set({ 'codeserve.budgetMs': budgetMs });
    const line = `  budgetMs: ${budgetMs}\n`;
    await until('the budget holds', async () => (await this.window.diagnostics()).includes(line));
  }

  /** How often a kind of feedback has come to the server. */
  feedback(event: string): Promise<number> {
    return this.server.metric('codeserve_feedback_total', `event="${event}"`);
  }

  /** Put a file into the workspace. */
  async write(name: string, text: string): Promise<void> {
    await writeFile(path.join(this.workspace, name), text);
  }

  /** Save the file that is open and check every byte of it. */
  async assertSaved(name: string, text: string): Promise<void> {
    await this.window.press('Control+s');
    await untilEqual(`${name} on disk`, () => readFile(path.join(this.workspace, name), 'utf8'), text);
  }

  /** A screenshot among the artifacts; `picture` is its place in the README or the walkthrough. */
  async picture(name: string, picture?: string, window = this.window): Promise<void> {
    const file = path.join(ARTIFACTS, `${name}.png`);
    await window.screenshot(file);
    if (PICTURES !== undefined && picture !== undefined) {
      const target = path.join(PICTURES, picture);
      await mkdir(path.dirname(target), { recursive: true });
      await copyFile(file, target);
    }
  }
}

/** Have the language server found as the workspace's own. */
export async function linkEnvironment(workspace: string): Promise<void> {
  await symlink(path.dirname(path.dirname(PYTHON)), path.join(workspace, '.venv'));
}

function defined<T>(value: T | undefined): T {
  assert.ok(value !== undefined, 'not started');
  return value;
}
