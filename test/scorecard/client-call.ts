import { createParser } from 'eventsource-parser';

/** A gateway as its clients reach it. */
export interface Target {
  /** With the path `/v1`. */
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly model: string;
}

/** What one client saw. */
export interface CallOutcome {
  /** 0: no response. */
  readonly status: number;
  /** `code` or `type` of the error, in the body or in the stream; `null` when there was none. */
  readonly code: string | null;
  /** Text of the answer, as far as it arrived. */
  readonly text: string;
  /** A whole answer: JSON with a choice, or a stream with its finish and its end mark. */
  readonly isComplete: boolean;
  /** The connection broke or went silent without an error that the client can read. */
  readonly isBroken: boolean;
  readonly hasRetryAfter: boolean;
  readonly tookMs: number;
}

/** A client that waits longer has hung. */
const PATIENCE_MS = 120_000;
export const MAX_OUTPUT_TOKENS = 64;

interface ErrorBody {
  readonly code?: unknown;
  readonly type?: unknown;
}

interface Reading {
  text: string;
  code: string | null;
  finished: boolean;
  ended: boolean;
}

/** Sends one chat completion and reads the answer to its end. Never rejects: every failure is an outcome. */
export async function call(target: Target, streamed: boolean): Promise<CallOutcome> {
  const startedAtMs = performance.now();
  const reading: Reading = { text: '', code: null, finished: false, ended: false };
  let response: Response | null = null;
  let isBroken = false;
  try {
    response = await fetch(`${target.baseUrl}/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${target.apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: target.model,
        messages: [{ role: 'user', content: 'Who answers?' }],
        max_tokens: MAX_OUTPUT_TOKENS,
        stream: streamed,
      }),
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    await (isStream(response) ? readStream(response, reading) : readDocument(response, reading));
  } catch {
    isBroken = true;
  }
  const isComplete = response?.status === 200 && reading.code === null && reading.finished && reading.ended;
  return {
    status: response?.status ?? 0,
    code: reading.code,
    text: reading.text,
    isComplete,
    isBroken: isBroken || (!isComplete && reading.code === null),
    hasRetryAfter: response?.headers.has('retry-after') ?? false,
    tookMs: performance.now() - startedAtMs,
  };
}

function isStream(response: Response): boolean {
  return response.headers.get('content-type')?.startsWith('text/event-stream') === true;
}

async function readStream(response: Response, reading: Reading): Promise<void> {
  const parser = createParser({
    onEvent: ({ data }) => {
      if (data === '[DONE]') reading.ended = true;
      else readChunk(data, reading);
    },
  });
  const decoder = new TextDecoder();
  for await (const bytes of response.body ?? []) parser.feed(decoder.decode(bytes as Uint8Array, { stream: true }));
}

function readChunk(data: string, reading: Reading): void {
  const { error, choices } = JSON.parse(data) as {
    error?: ErrorBody;
    choices?: readonly { delta?: { content?: string | null }; finish_reason?: string | null }[];
  };
  if (error !== undefined) reading.code = codeOf(error);
  reading.text += choices?.[0]?.delta?.content ?? '';
  if (choices?.[0]?.finish_reason != null) reading.finished = true;
}

async function readDocument(response: Response, reading: Reading): Promise<void> {
  const { error, choices } = (await response.json()) as {
    error?: ErrorBody;
    choices?: readonly { message?: { content?: string | null } }[];
  };
  if (error !== undefined) reading.code = codeOf(error);
  const content = choices?.[0]?.message?.content;
  reading.text = content ?? '';
  reading.finished = reading.ended = typeof content === 'string';
}

function codeOf({ code, type }: ErrorBody): string {
  return String(code ?? type ?? 'unnamed');
}
