/** One window of VS Code, in a browser: what a user does and sees. */

import type { FrameLocator, Locator, Page } from 'playwright-core';
import { until, untilEqual } from './wait.ts';

/** Between keystrokes, as a fast typist has it. Answers come in between, as they do for a user. */
const KEY_MS = 60;

export class Window {
  readonly page: Page;

  constructor(page: Page) {
    this.page = page;
  }

  // The workbench

  /** Wait until the extension shows itself. Text that is typed before that gets no completions. */
  async ready(): Promise<void> {
    await this.page.locator('.monaco-workbench').waitFor({ timeout: 90_000 });
    await this.statusItem.waitFor({ timeout: 60_000 });
  }

  get statusItem(): Locator {
    return this.page.locator('.statusbar-item[id="codeserve.codeserve.codeserve.status"]');
  }

  /** What the status bar item says to a screen reader: the state, and a sentence. */
  async status(): Promise<string> {
    return (await this.statusItem.locator('a').getAttribute('aria-label')) ?? '';
  }

  /** Wait for a state: ready, thinking, offline or disabled, with this in the sentence. */
  async untilStatus(state: string, words = '', timeoutMs = 30_000): Promise<void> {
    let last = '';
    const what = `the status is ${state} ${words}`;
    await until(
      what,
      async () => {
        last = await this.status();
        return last.startsWith(`codeserve: ${state}.`) && last.includes(words);
      },
      timeoutMs,
    ).catch(() => {
      throw new Error(`${what}: it is "${last}"`);
    });
  }

  /** Run a command by its title in the palette. */
  async command(title: string): Promise<void> {
    const row = this.page.locator('.quick-input-list .monaco-list-row', { hasText: title }).first();
    await this.palette(`>${title}`, () => row.click({ timeout: 2_000 }));
  }

  /** Open the palette, write into its box, and go on. It closes when something else takes the focus: then again. */
  private async palette(text: string, then: () => Promise<void>): Promise<void> {
    await until(`the palette takes ${text}`, async () => {
      try {
        await this.page.keyboard.press('F1');
        await this.input.fill(text, { timeout: 2_000 });
        await then();
        return true;
      } catch {
        return false;
      }
    });
  }

  /** The box of the palette, or one that asks for something. */
  get input(): Locator {
    return this.page.locator('.quick-input-widget:visible input.input');
  }

  /** Enter the token through the command. */
  async setToken(token: string): Promise<void> {
    await this.command('codeserve: Set Token');
    const box = this.page.locator('.quick-input-widget:visible input[type="password"]');
    await box.fill(token);
    await box.press('Enter');
    await box.waitFor({ state: 'hidden' });
  }

  /** Messages that have popped up and are still there, with these words. */
  messages(words: string | RegExp = ''): Locator {
    return this.page.locator('.notifications-toasts .notification-list-item', { hasText: words });
  }

  async closeMessages(): Promise<void> {
    await this.command('Notifications: Clear All Notifications');
    await this.messages().first().waitFor({ state: 'detached' });
  }

  /** What the command puts on the clipboard. */
  async diagnostics(): Promise<string> {
    await this.command('codeserve: Copy Diagnostics');
    await this.messages('Diagnostics copied').waitFor();
    const text = await this.page.evaluate(() => navigator.clipboard.readText());
    await this.closeMessages();
    return text;
  }

  /** What a webview shows. */
  get webview(): FrameLocator {
    return this.page.frameLocator('iframe.webview.ready').frameLocator('iframe#active-frame');
  }

  // The editor

  /** Open a file of the workspace and put the cursor at the end of a line, `back` characters before it. */
  async open(name: string, line: number, back = 0): Promise<void> {
    await this.page.locator('.explorer-folders-view').getByText(name, { exact: true }).dblclick();
    await this.editor(name).locator('.view-lines').first().waitFor();
    await this.palette(`:${line}`, () => this.input.press('Enter', { timeout: 2_000 }));
    await this.input.waitFor({ state: 'hidden' });
    await this.press('End', ...Array<string>(back).fill('ArrowLeft'));
    await this.page.locator('#status\\.editor\\.selection', { hasText: `Ln ${line},` }).waitFor();
  }

  private editor(name: string): Locator {
    return this.page.locator(`.editor-instance .monaco-editor[data-uri$="/${name}"]`);
  }

  /** Leave the file as it is on disk. */
  async close(): Promise<void> {
    await this.command('View: Revert and Close Editor');
  }

  async type(text: string): Promise<void> {
    await this.page.keyboard.type(text, { delay: KEY_MS });
  }

  async press(...keys: string[]): Promise<void> {
    for (const key of keys) {
      await this.page.keyboard.press(key);
    }
  }

  /** The ghost text, '' for none. Its lines are where the cursor is, and below. */
  async ghost(): Promise<string> {
    const lines = await this.page.evaluate(async () => {
      // all that is to be drawn is drawn
      await new Promise(requestAnimationFrame);
      await new Promise(requestAnimationFrame);
      const text = (element: Element): string => element.textContent.replaceAll('\u00a0', ' ');
      const editor = document.querySelector('.editor-instance .monaco-editor');
      const here = [...(editor?.querySelectorAll('.ghost-text-decoration') ?? [])].map(text).join('');
      const below = [...(editor?.querySelectorAll('.suggest-preview-text .view-line') ?? [])].map(text);
      return [here, ...below];
    });
    return lines.join('\n');
  }

  /** Wait for ghost text that is all there: its first line and those below are drawn apart. */
  async untilGhost(): Promise<string> {
    let before = '';
    return until('ghost text shows', async () => {
      const last = before;
      before = await this.ghost();
      return before === last && before;
    });
  }

  /** Wait for this ghost text, '' for none. */
  async untilGhostIs(text: string): Promise<void> {
    await untilEqual('the ghost text', () => this.ghost(), text);
  }

  async screenshot(file: string): Promise<void> {
    await this.page.screenshot({ path: file, animations: 'disabled' });
  }
}
