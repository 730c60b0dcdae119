/** What is known of the language server and of the server, and who wants to know when it changes. */

import * as vscode from 'vscode';
import type { Listener } from './client.ts';
import { History } from './logic/history.ts';
import { Late } from './logic/late.ts';
import type { Answered, ServerStatus, Timed } from './logic/messages.ts';
import type { Process } from './logic/status.ts';

/** A completion that takes less is not shown as under way: the status would flicker with each keystroke. */
const NOTICEABLE_MS = 150;

export class State implements Listener, vscode.Disposable {
  readonly history = new History();
  readonly late = new Late(this.history);
  /** What the language server is at the moment. */
  languageServer: Process = 'starting';
  server: ServerStatus | undefined;
  /** Documents that the language server does not complete, because of their files. */
  readonly excluded = new Set<string>();

  private readonly changed = new vscode.EventEmitter<void>();
  private readonly measured = new vscode.EventEmitter<void>();
  /** What ends each completion that is under way. */
  private readonly underWay = new Set<() => void>();
  private overdue = 0;

  /** The status is another one. */
  readonly onDidChange = this.changed.event;
  /** The history has more. */
  readonly onDidMeasure = this.measured.event;

  get thinking(): boolean {
    return this.overdue > 0;
  }

  process(process: Process): void {
    this.languageServer = process;
    if (process !== 'running') {
      this.server = undefined; // one that runs may have told before it was seen to run
      this.excluded.clear();
      this.history.connected();
      for (const end of this.underWay) {
        end(); // nobody answers any more
      }
    }
    this.changed.fire();
  }

  status(status: ServerStatus): void {
    this.server = status;
    if (status.state === 'connecting') {
      this.history.connected();
    } else if (status.state === 'ready') {
      this.late.becameReady();
    }
    this.changed.fire();
  }

  /** Settings have changed: whether a file is left out is to be asked anew. */
  settingsChanged(): void {
    if (this.excluded.size > 0) {
      this.excluded.clear();
      this.changed.fire();
    }
  }

  answered(answered: Answered): void {
    this.late.answered(answered);
    const { excluded } = this;
    const wasExcluded = excluded.has(answered.uri);
    if (answered.reason === 'disabled_here') {
      excluded.add(answered.uri);
    } else {
      excluded.delete(answered.uri);
    }
    if (excluded.has(answered.uri) !== wasExcluded) {
      this.changed.fire();
    }
    if (this.history.answered(answered)) {
      this.measured.fire();
    }
  }

  timed(timed: Timed): void {
    this.history.timed(timed);
    this.late.measured();
    this.measured.fire();
  }

  /** A suggestion was accepted, whole or (`part`) a word or a line of it. */
  took(part: boolean): void {
    this.history.took(part);
    this.changed.fire();
  }

  /** A completion was asked for: it counts as under way once `end` has not been called for a while. */
  begin(): { end: () => void } {
    let shown = false;
    const timer = setTimeout(() => {
      shown = true;
      this.overdue++;
      this.changed.fire();
    }, NOTICEABLE_MS);
    const end = (): void => {
      clearTimeout(timer);
      this.underWay.delete(end);
      if (shown) {
        shown = false;
        this.overdue--;
        this.changed.fire();
      }
    };
    this.underWay.add(end);
    return { end };
  }

  dispose(): void {
    for (const end of this.underWay) {
      end();
    }
    this.changed.dispose();
    this.measured.dispose();
  }
}
