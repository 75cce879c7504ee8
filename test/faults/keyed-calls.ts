/** Clients that send an `Idempotency-Key`, and an upstream that counts its calls per request. */
import type { ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { FakeUpstream } from '../conformance/fake-upstream';
import { assertMatchesDocument } from '../harness/openapi-validator';
import { chunk, event, usageChunk } from '../harness/upstream-models';

const CHAT = '/v1/chat/completions';
/** The cost of ten prompt tokens and five output tokens at the prices of `upstream-models`. */
export const COST_MICRO = 20;

export interface KeyedReply {
  /** 0: the connection broke before the response was complete. */
  readonly status: number;
  readonly replayed: boolean;
  readonly retryAfter: number | null;
  readonly text: string;
}

export interface KeyedCall {
  readonly url: string;
  readonly key: string;
  readonly idempotencyKey: string;
  /** Default: chat completions. */
  readonly path?: string;
  readonly body: object;
}

export const bodyOf = (text: string, streamed = false): object => ({
  model: 'local/chat',
  messages: [{ role: 'user', content: text }],
  ...(streamed && { stream: true }),
});

/**
 * Sends one request. Never rejects on a broken connection; a response that violates the OpenAPI document is an error.
 */
export async function send({ url, key, idempotencyKey, path = CHAT, body }: KeyedCall): Promise<KeyedReply> {
  let response: Response;
  let text: string;
  try {
    response = await fetch(`${url}${path}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        'idempotency-key': idempotencyKey,
      },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(60_000),
    });
    text = await response.text();
  } catch {
    return { status: 0, replayed: false, retryAfter: null, text: '' };
  }
  const headers = Object.fromEntries(response.headers);
  assertMatchesDocument({ method: 'POST', path, status: response.status, headers, body: text });
  const retryAfter = headers['retry-after'];
  if (response.status === 409 && retryAfter !== undefined) {
    expect(JSON.parse(text).error.retry_after).toBe(Number(retryAfter));
  }
  return {
    status: response.status,
    replayed: headers['idempotent-replayed'] === 'true',
    retryAfter: retryAfter === undefined ? null : Number(retryAfter),
    text,
  };
}

/** Retries while the service is unavailable, like every client: on a busy machine Redis can be late. */
export async function sendUntilServed(call: KeyedCall, withinMs = 60_000): Promise<KeyedReply> {
  const startedAtMs = performance.now();
  for (;;) {
    const reply = await send(call);
    if (reply.status !== 503 || performance.now() - startedAtMs > withinMs) return reply;
    await delay((reply.retryAfter ?? 1) * 1_000);
  }
}

/** Retries per Retry-After until there is a response. */
export async function sendUntilAnswered(call: KeyedCall, withinMs: number): Promise<KeyedReply> {
  const startedAtMs = performance.now();
  for (;;) {
    const reply = await send(call);
    if (reply.status === 200) return reply;
    if (performance.now() - startedAtMs > withinMs) throw new Error(`no answer: ${reply.status} ${reply.text}`);
    await delay(Math.min((reply.retryAfter ?? 1) * 1_000, 1_000));
  }
}

/** Responds after a delay, never with the same words twice, and counts the calls. */
export class CountingUpstream {
  /** Number of calls by the text of the request. */
  readonly asked = new Map<string, number>();
  private answers = 0;

  private constructor(
    private readonly server: FakeUpstream,
    private readonly delayMs: number,
  ) {
    server.answer = (response, request) => {
      const { messages, stream } = JSON.parse(request.body) as { messages: { content: string }[]; stream?: boolean };
      const text = messages[0]?.content ?? '';
      this.asked.set(text, (this.asked.get(text) ?? 0) + 1);
      const words = `answer ${++this.answers}`;
      void (stream === true ? this.stream(response, words) : this.whole(response, words));
    };
  }

  static async start(delayMs: number): Promise<CountingUpstream> {
    return new CountingUpstream(await FakeUpstream.start(), delayMs);
  }

  get baseUrl(): string {
    return `${this.server.origin}/v1`;
  }

  stop(): Promise<void> {
    return this.server.stop();
  }

  private async whole(response: ServerResponse, content: string): Promise<void> {
    await delay(this.delayMs);
    response.setHeader('content-type', 'application/json');
    const choices = [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }];
    response.end(JSON.stringify({ id: 'c', choices, usage: { prompt_tokens: 10, completion_tokens: 5 } }));
  }

  private async stream(response: ServerResponse, words: string): Promise<void> {
    response.setHeader('content-type', 'text/event-stream');
    for (let part = 1; part <= 5; part++) {
      response.write(chunk({ content: `${words} part ${part} ` }));
      await delay(this.delayMs / 5);
    }
    response.end(chunk({}, 'stop') + usageChunk(10, 5) + event('[DONE]'));
  }
}
