/** Shared by the tests of request endings: a scripted upstream, and the expected charges. */
import type { ServerResponse } from 'node:http';
import type { ChatProvider } from '../../src/providers/contract/chat';
import { ProvidersService } from '../../src/providers/providers.service';
import type { CallReply, TestGateway } from '../harness/gateway';
import { chunk, event, usageChunk } from '../harness/upstream-models';

/** The usage that the upstream reports, and its cost at one and two dollars per million. */
export const DELIVERED = { prompt: 100, completion: 50, costMicro: 200 };
export const WORDS = 'Tea is a drink that many people like. ';

export const PATH = '/v1/chat/completions';

export const requestOf = (prompt: string, stream: boolean): object => ({
  model: 'local/chat',
  max_tokens: 200,
  stream,
  messages: [{ role: 'user', content: prompt }],
});

export const SHED = '503 service_unavailable';

/** How a request ended for its client: status and code, from the envelope or the last event. */
export function endingOf({ status, json, events }: CallReply): string {
  if (status !== 200) return `${status} ${json.error.code}`;
  const last = JSON.parse(events.at(-2) ?? '{}');
  return last.error === undefined ? '200' : `200, then ${last.error.code}`;
}

/** For a client that retries when a busy machine refuses it. */
export async function untilServed(ask: () => Promise<string>): Promise<string> {
  for (;;) {
    const ending = await ask();
    if (ending !== SHED) return ending;
  }
}

export function chatProviderOf({ app }: TestGateway): Required<ChatProvider> {
  const chat = app.get(ProvidersService, { strict: false }).get('openai-compatible')?.chat;
  if (chat?.openChunkStream === undefined) throw new Error('the provider of these tests is not configured');
  return chat as Required<ChatProvider>;
}

/** The upstream: the prompt selects its behaviour. */
export function play(response: ServerResponse, prompt: string): void {
  const [what, ...rest] = prompt.split(' ');
  const openStream = (): void => {
    response.setHeader('content-type', 'text/event-stream');
    response.write(chunk({ role: 'assistant', content: WORDS }));
  };
  switch (what) {
    case 'answer': {
      const message = { role: 'assistant', content: WORDS };
      const usage = { prompt_tokens: DELIVERED.prompt, completion_tokens: DELIVERED.completion };
      const body = JSON.stringify({ id: 'c', choices: [{ index: 0, message, finish_reason: 'stop' }], usage });
      response.setHeader('content-type', 'application/json');
      setTimeout(() => response.end(body), Number(rest[0] ?? 0));
      return;
    }
    case 'stream':
      openStream();
      response.write(chunk({}, 'stop'));
      setTimeout(
        () => response.end(usageChunk(DELIVERED.prompt, DELIVERED.completion) + event('[DONE]')),
        Number(rest[0] ?? 0),
      );
      return;
    case 'status':
      response
        .writeHead(Number(rest[0]), { 'content-type': 'application/json' })
        .end('{"error":{"message":"no","type":"invalid_request_error"}}');
      return;
    case 'garbage':
      response.setHeader('content-type', 'application/json').end('<html>');
      return;
    case 'reset':
      response.destroy();
      return;
    case 'begin-and-reset':
      openStream();
      setTimeout(() => response.destroy(), 50);
      return;
    case 'begin-and-stop':
      openStream();
      response.end();
      return;
    case 'begin-and-hang':
      openStream();
      return;
  }
}

export interface Receipt {
  readonly status: number;
  readonly error_code: string | null;
  readonly usage_estimated: boolean;
  readonly charged: number;
  readonly input_text: number;
  readonly output_text: number;
}

export interface Books {
  readonly receipts: readonly Receipt[];
  readonly held: number;
  readonly charged: number;
  readonly entries: number;
}

/** The distinct receipts, unordered: all endings of one kind must look the same. */
export const kindsOf = ({ receipts }: Books): Receipt[] => [
  ...new Map(receipts.map((receipt) => [JSON.stringify(receipt), receipt])).values(),
];

/** The receipt of a complete response. */
export const delivered = {
  status: 200,
  error_code: null,
  usage_estimated: false,
  charged: DELIVERED.costMicro,
  input_text: DELIVERED.prompt,
  output_text: DELIVERED.completion,
};
/** Common fields of all receipts without a charge. */
export const nothing = { usage_estimated: false, charged: 0, input_text: 0, output_text: 0 };
