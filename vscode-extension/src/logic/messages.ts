/** What the language server says beyond LSP, read with care: another version may say it otherwise. */

export interface ServerStatus {
  /** As `codeserve/status` has it: ready, loading, connecting, offline, unauthorized, misconfigured or off. */
  readonly state: string;
  /** One line for people, '' when all is well. */
  readonly reason: string;
  readonly url: string;
  readonly model: string;
}

/** One answer that went out to the editor. Times are milliseconds. */
export interface Answered {
  readonly uri: string;
  /** Why there is no text, or how the model ended. */
  readonly reason: string;
  readonly ms: number;
  /** The server's name for the request that it came from, '' for none. */
  readonly request: string;
  /** No request of its own was needed. */
  readonly cached: boolean;
  /** How many texts it holds. */
  readonly items: number;
}

/** Where the time of one request to the server went. Times are milliseconds. */
export interface Timed {
  readonly request: string;
  readonly networkMs: number;
  readonly queueMs: number;
  readonly prefillMs: number;
  readonly decodeMs: number;
  readonly promptTokens: number;
  readonly cachedTokens: number;
  readonly outputTokens: number;
}

type Fields = Record<string, unknown>;

function fields(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {};
}

function text(from: Fields, name: string): string {
  const value = from[name];
  return typeof value === 'string' ? value : '';
}

function number(from: Fields, name: string): number {
  const value = from[name];
  return typeof value === 'number' && Number.isFinite(value) ? value : 0;
}

/** The parameters of `codeserve/status`. What is missing or of another type is empty. */
export function readStatus(params: unknown): ServerStatus {
  const given = fields(params);
  return {
    state: text(given, 'state'),
    reason: text(given, 'reason'),
    url: text(given, 'url'),
    model: text(given, 'model'),
  };
}

/** The parameters of `codeserve/answered`. */
export function readAnswered(params: unknown): Answered {
  const given = fields(params);
  return {
    uri: text(given, 'uri'),
    reason: text(given, 'reason'),
    ms: number(given, 'ms'),
    request: text(given, 'request'),
    cached: given['cached'] === true,
    items: number(given, 'items'),
  };
}

/** The parameters of `codeserve/timed`. */
export function readTimed(params: unknown): Timed {
  const given = fields(params);
  return {
    request: text(given, 'request'),
    networkMs: number(given, 'networkMs'),
    queueMs: number(given, 'queueMs'),
    prefillMs: number(given, 'prefillMs'),
    decodeMs: number(given, 'decodeMs'),
    promptTokens: number(given, 'promptTokens'),
    cachedTokens: number(given, 'cachedTokens'),
    outputTokens: number(given, 'outputTokens'),
  };
}
