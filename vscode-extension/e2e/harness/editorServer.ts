/** code-server: VS Code's workbench and extension host, with the extension installed from its package. */

import { execFile } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { PREFIX, VSIX, WHEELS } from './places.ts';
import { environment, freePort, Program } from './program.ts';
import { until } from './wait.ts';

const ENTRY = path.join(PREFIX, 'node_modules', 'code-server', 'out', 'node', 'entry.js');

/** What would put other things on the screen than the tests are about, or ask for other hosts. */
const QUIET = {
  'chat.disableAIFeatures': true,
  'editor.minimap.enabled': false,
  'editor.quickSuggestions': { other: 'off', comments: 'off', strings: 'off' },
  'editor.wordBasedSuggestions': 'currentDocument', // in the popup, which opens by hand only
  'editor.parameterHints.enabled': false,
  'editor.inlineSuggest.enabled': true,
  'extensions.autoCheckUpdates': false,
  'extensions.autoUpdate': false,
  'extensions.ignoreRecommendations': true,
  'files.autoSave': 'off',
  'files.exclude': { '**/.venv': true, '**/.vscode': true },
  'git.enabled': false,
  'security.workspace.trust.enabled': false,
  'telemetry.telemetryLevel': 'off',
  'terminal.integrated.gpuAcceleration': 'off',
  'update.mode': 'none',
  'workbench.enableExperiments': false,
  'workbench.secondarySideBar.defaultVisibility': 'hidden',
  'workbench.startupEditor': 'none',
  'workbench.welcomePage.walkthroughs.openOnInstall': false,
};

/** What has no key of its own. */
export const ACCEPT_LINE = 'Control+Alt+l';
const KEYS = [
  {
    key: 'ctrl+alt+l',
    command: 'editor.action.inlineSuggest.acceptNextLine',
    when: 'inlineSuggestionVisible',
  },
];

export class EditorServer {
  private program: Program | undefined;
  private port = 0;
  private given: Readonly<Record<string, unknown>> = {};

  private readonly folder: string;

  /** Everything that it writes goes below `folder`. */
  constructor(folder: string) {
    this.folder = folder;
  }

  /** A page with a folder open. */
  url(workspace: string): string {
    return `http://127.0.0.1:${this.port}/?folder=${encodeURIComponent(workspace)}`;
  }

  /** The environment for its browser as well: nothing is written to the user's own folders. */
  get env(): NodeJS.ProcessEnv {
    const at = (name: string): string => path.join(this.folder, name);
    return environment({
      HOME: at('home'),
      XDG_CONFIG_HOME: at('config'),
      XDG_DATA_HOME: at('data'),
      // compiled kernels of the engine: making them anew takes longer than everything else
      XDG_CACHE_HOME: process.env['XDG_CACHE_HOME'] ?? path.join(homedir(), '.cache'),
      TMPDIR: at('tmp'),
      EXTENSIONS_GALLERY: '{}', // else it asks a marketplace
      // for the install command: nothing comes from an index
      PIP_NO_INDEX: '1',
      PIP_FIND_LINKS: WHEELS,
    });
  }

  /** Start it with these settings of the user's, besides its own. */
  async start(settings: Readonly<Record<string, unknown>>): Promise<void> {
    await Promise.all(['home', 'config', 'data', 'tmp'].map((name) => mkdir(path.join(this.folder, name))));
    const user = path.dirname(this.settingsFile);
    await mkdir(user, { recursive: true });
    this.given = settings;
    await this.set({});
    await writeFile(path.join(user, 'keybindings.json'), JSON.stringify(KEYS));
    const node = process.execPath;
    await promisify(execFile)(node, [ENTRY, ...this.folders(), '--install-extension', VSIX], {
      env: this.env,
    });
    this.port = await freePort();
    const program = new Program(
      'code-server',
      [
        ...[node, ENTRY, ...this.folders(), '--auth', 'none', '--bind-addr', `127.0.0.1:${this.port}`],
        ...['--disable-telemetry', '--disable-update-check', '--disable-proxy'],
        ...['--disable-getting-started-override', '--ignore-last-opened'],
      ],
      this.env,
    );
    this.program = program;
    await until('code-server answers', async () => {
      if (!program.running) {
        throw new Error('code-server has ended: see code-server.log');
      }
      return fetch(`http://127.0.0.1:${this.port}/healthz`).then(
        (response) => response.ok,
        () => false,
      );
    });
  }

  /** Write the user's settings: those that it was started with, and these. */
  async set(settings: Readonly<Record<string, unknown>>): Promise<void> {
    await writeFile(this.settingsFile, JSON.stringify({ ...QUIET, ...this.given, ...settings }));
  }

  /** The file of the user's settings as it is. */
  settings(): Promise<string> {
    return readFile(this.settingsFile, 'utf8');
  }

  private get settingsFile(): string {
    return path.join(this.folder, 'user', 'User', 'settings.json');
  }

  async stop(): Promise<void> {
    await this.program?.stop();
  }

  private folders(): string[] {
    const at = (name: string): string => path.join(this.folder, name);
    return ['--user-data-dir', at('user'), '--extensions-dir', at('extensions')];
  }
}
