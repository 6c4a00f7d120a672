/** An integer. Beyond 2^53 it is a bigint, so that it stays exact; either is taken. */
export type Integer = number | bigint;

/** A file; base64 is padded. */
export interface BbBytes {
  kind: "bytes";
  mimeType: string;
  base64: string;
}

export interface CallOptions {
  signal?: AbortSignal;
}

export interface StreamOptions extends CallOptions {
  /** The cursor to go on after, as cursorOf gives it. */
  since?: string;
}

export interface ConnectOptions {
  /** http://127.0.0.1:38886 by default, or BB_SERVER_URL where there are variables. */
  serverUrl?: string;
  token?: string;
  /** Where the caller works: it fills ambient fields of inputs. */
  context?: { threadId?: string; projectId?: string; environmentId?: string; hostId?: string; cwd?: string };
  fetch?: typeof globalThis.fetch;
}

export interface BbIssue {
  path: Array<string | number>;
  code: string;
  message: string;
}

/** What a call fails with. */
export class BbError extends Error {
  readonly code: string;
  readonly issues: BbIssue[];
  readonly details: Record<string, unknown>;
  readonly retryable: boolean;
  /** 0 when no server has answered. */
  readonly status: number;
  readonly callId: string;
}

export interface BbSdk {
  service<K extends keyof BbServices>(id: K): BbServices[K];
  /** A method by name, without types. */
  call(ref: string, input?: unknown, options?: CallOptions): Promise<unknown>;
  /** A stream by name, without types. */
  stream(ref: string, input?: unknown, options?: StreamOptions): AsyncIterable<unknown>;
}

export function connect(options?: ConnectOptions): BbSdk;

/** The cursor of an item that a stream has yielded, "" for one without. Items that are not objects have none. */
export function cursorOf(item: unknown): string;
