/** Clients of a gateway under fault, and the full outcome of each. */
import { setTimeout as delay } from 'node:timers/promises';
import { FULL } from './figures';

export interface ChatCall {
  readonly url: string;
  readonly key: string;
  readonly body: object;
}

/** How one request ended for its client. */
export interface Exchange {
  /** `null` when no response headers arrived. */
  readonly requestId: string | null;
  readonly streamed: boolean;
  /** 0 when no response headers arrived. */
  readonly status: number;
  /**
   * `complete`: the whole response, for a stream up to `[DONE]`. `refused`: an error in the envelope, also within a
   * stream. `broken`: the connection ended before the response. `hung`: no response within any permitted time.
   */
  readonly outcome: 'complete' | 'refused' | 'broken' | 'hung';
  /** Code of the envelope; `not-the-envelope` for any other body. */
  readonly code: string | null;
  /** Why it is not complete: the message of the envelope or of the connection. */
  readonly reason: string | null;
  readonly costMicro: number | null;
  readonly startedAtMs: number;
  readonly endedAtMs: number;
}

const GIVEN_UP_AFTER_MS = FULL ? 15_000 : 90_000;
/** Pause of a refused client before its retry. */
const PAUSE_MS = 25;
const DONE = 'data: [DONE]\n\n';

interface Envelope {
  readonly error?: {
    readonly code?: unknown;
    readonly type?: unknown;
    readonly request_id?: unknown;
    readonly message?: unknown;
  };
}

type Ending = Pick<Exchange, 'outcome' | 'code' | 'reason' | 'costMicro'>;

interface Completion {
  readonly usage?: { readonly x_llm_cost_micro?: number };
}

/** The body of a chat request to the mock model, with a directive for the mock. */
export function chatBody(directive: string, fields: object = {}): object {
  return { model: 'mock/chat-1', messages: [{ role: 'user', content: `[[mock: ${directive}]]` }], ...fields };
}

/** Sends one request. Never rejects: every failure is a result. */
export async function chat({ url, key, body }: ChatCall): Promise<Exchange> {
  const startedAtMs = performance.now();
  const streamed = 'stream' in body && body.stream === true;
  let response: Response | null = null;
  const end = (result: Ending): Exchange => ({
    requestId: response?.headers.get('x-request-id') ?? null,
    streamed,
    status: response?.status ?? 0,
    startedAtMs,
    endedAtMs: performance.now(),
    ...result,
  });
  try {
    response = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(GIVEN_UP_AFTER_MS),
    });
    return end(readAnswer(response, await response.text()));
  } catch (error) {
    const { name, message, cause } = error as Error;
    return end(broken(name === 'TimeoutError' ? 'hung' : 'broken', `${message}: ${String(cause)}`));
  }
}

/**
 * The same, retried while the service is unavailable. Such a refusal leaves no state, and with many concurrent requests
 * a busy machine refuses some of them.
 */
export async function chatUntilServed(call: ChatCall): Promise<Exchange> {
  for (;;) {
    const exchange = await chat(call);
    if (exchange.outcome !== 'refused' || exchange.code !== 'service_unavailable') return exchange;
    await delay(PAUSE_MS);
  }
}

/** Many clients, each sending its next request right after a response. */
export class ChatLoad {
  readonly exchanges: Exchange[] = [];
  inFlight = 0;
  private stopped = false;
  private readonly callers: Promise<unknown>;

  /** `next` builds every request: a restarted gateway has a new URL, and calls may rotate. */
  constructor(callers: number, next: (index: number) => ChatCall) {
    let index = 0;
    const run = async (): Promise<void> => {
      while (!this.stopped) {
        this.inFlight++;
        const exchange = await chat(next(index++));
        this.inFlight--;
        this.exchanges.push(exchange);
        if (exchange.outcome !== 'complete' && !this.stopped) await delay(PAUSE_MS);
      }
    };
    this.callers = Promise.all(Array.from({ length: callers }, run));
  }

  /** Completes the requests in flight and starts no more. */
  async stop(): Promise<readonly Exchange[]> {
    this.stopped = true;
    await this.callers;
    return this.exchanges;
  }
}

/** Milliseconds from the request to the end of its response. */
export function durationOf({ startedAtMs, endedAtMs }: Exchange): number {
  return endedAtMs - startedAtMs;
}

/** How often each ending occurred, for example `{ complete: 10, '503 service_unavailable': 2 }`. */
export function summarize(exchanges: readonly Exchange[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { outcome, status, code } of exchanges) {
    const name = outcome === 'refused' ? `${status} ${code}` : outcome;
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}

/** How often each reason occurred for which a request was not completed. */
export function reasonsOf(exchanges: readonly Exchange[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { reason } of exchanges) {
    if (reason !== null) counts[reason] = (counts[reason] ?? 0) + 1;
  }
  return counts;
}

function readAnswer(response: Response, text: string): Ending {
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true;
  if (!isStream) return readBody(response, text);
  if (!text.endsWith(DONE)) return broken('broken', 'the stream has no end');
  const events = text.split('\n\n').filter((event) => event.startsWith('data: {'));
  const last = JSON.parse((events.at(-1) ?? 'data: {}').slice('data: '.length));
  return last.error === undefined ? complete(last) : refused(last, response);
}

function readBody(response: Response, text: string): Ending {
  const body = parse(text);
  return response.status === 200 ? complete(body) : refused(body, response);
}

function complete(body: Completion | null): Ending {
  return { outcome: 'complete', code: null, reason: null, costMicro: body?.usage?.x_llm_cost_micro ?? null };
}

function refused(body: Envelope | null, response: Response): Ending {
  const { code, type, message, request_id: requestId } = body?.error ?? {};
  const isEnvelope =
    typeof type === 'string' && typeof code === 'string' && requestId === response.headers.get('x-request-id');
  return {
    outcome: 'refused',
    code: isEnvelope ? code : 'not-the-envelope',
    reason: isEnvelope ? String(message) : null,
    costMicro: null,
  };
}

function broken(outcome: 'broken' | 'hung', reason: string): Ending {
  return { outcome, code: null, reason, costMicro: null };
}

function parse(text: string): (Envelope & Completion) | null {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
