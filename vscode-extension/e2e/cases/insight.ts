/** What the extension says of itself. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TOKEN } from '../harness/completionServer.ts';
import { untilEqual } from '../harness/wait.ts';
import type { World } from '../harness/world.ts';

export function insight(world: World): void {
  test('the tooltip of the status bar has the model and the figures', async () => {
    const { window } = world;
    await window.statusItem.hover();
    const tooltip = window.page.locator('.monaco-hover:visible', { hasText: 'Model' });
    await tooltip.waitFor();
    const text = (await tooltip.innerText()).replaceAll('\u00a0', ' ');
    for (const figure of [
      /Model: \S*mini-codellama/,
      /p50 \d+ ms, p95 \d+ ms/,
      /Cache hits: \d+ %/,
      /Accepted: \d+ of \d+/,
    ]) {
      assert.match(text, figure);
    }
    await world.picture('status', 'screenshots/status.png');
    await window.press('Escape');
  });

  test('the latency view has a bar for each answer, with all stages', async () => {
    const { window } = world;
    await window.command('codeserve: Show Latency');
    const view = window.webview;
    await view.locator('#chart rect').first().waitFor();
    assert.deepEqual(await view.locator('#legend li').allTextContents(), [
      'language server',
      'network',
      'queue',
      'prefill',
      'decode',
    ]);
    for (const stage of [0, 1, 2, 3, 4]) {
      assert.ok((await view.locator(`#chart rect.stage-${stage}`).count()) > 0, `stage ${stage}`);
    }
    assert.match((await view.locator('#statistics').textContent()) ?? '', /^Last \d+ answers: p50/);
    await world.picture('latency', 'screenshots/latency.png');
    await window.page.locator('.tab', { hasText: 'codeserve: Latency' }).click();
    await window.close();
  });

  test('the diagnostics hold facts, and neither code nor token', async () => {
    const { window } = world;
    const text = await window.diagnostics();
    assert.match(text, /server: ready, model \S*mini-codellama/);
    assert.match(text, /token stored: yes/);
    for (const secret of [TOKEN, 'self', 'Point', '.py']) {
      assert.ok(!text.includes(secret), `"${secret}" in:\n${text}`);
    }
  });

  test('the log holds neither code nor token', async () => {
    const { window } = world;
    await window.command('codeserve: Show Log');
    const log = window.page.locator('.part.panel .monaco-editor .view-lines', { hasText: 'Starting' });
    await log.waitFor();
    const text = (await log.innerText()).replaceAll('\u00a0', ' ');
    for (const secret of [TOKEN, 'self.', 'Point']) {
      assert.ok(!text.includes(secret), `"${secret}" in:\n${text}`);
    }
    await window.command('View: Hide Panel');
  });

  test('the walkthrough has four steps, and those that are done are ticked', async () => {
    const { window } = world;
    await window.command('codeserve: Open Walkthrough');
    const steps = window.page.locator('.getting-started-step');
    await steps.first().waitFor();
    assert.equal(await steps.count(), 4);
    const ticked = steps.locator('.codicon-getting-started-step-checked');
    await untilEqual('steps that are ticked', () => ticked.count(), 4);
    await world.picture('walkthrough');
    await window.close();
  });

  test('the page of the extension shows the README, without a picture that is not there', async () => {
    const { window } = world;
    await window.command('Extensions: Show Installed Extensions');
    await window.page.locator('.extensions-list .monaco-list-row', { hasText: 'codeserve' }).first().click();
    const page = window.webview.locator('body', { hasText: 'there is no telemetry' });
    await page.waitFor();
    assert.equal(await page.locator('img').count(), 0);
    await world.picture('page');
    await window.close();
    await window.command('View: Show Explorer');
  });
}
