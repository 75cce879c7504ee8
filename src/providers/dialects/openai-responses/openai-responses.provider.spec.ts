import * as fc from 'fast-check';
import type { Response, ResponseOutputItem } from 'openai/resources/responses/responses';
import { FakeUpstream } from '../../../../test/conformance/fake-upstream';
import { MemoryVault } from '../../../../test/conformance/memory-vault';
import { chatRequest, providerCall, providerErrorOf } from '../../../../test/conformance/provider-call';
import {
  callSteps,
  completed,
  created,
  done,
  functionCall,
  message,
  outputText,
  reasoning,
  reasoningSteps,
  response,
  type Step,
  stream,
  textDelta,
} from '../../../../test/conformance/upstream-responses';
import type { ChatMessage, ChatRequest } from '../../contract/chat';
import type { ChatEvent } from '../../contract/chat-event';
import type { ProviderCall } from '../../contract/provider-call';
import { UpstreamHttp } from '../../kit/upstream-http';
import { OpenAiResponses } from './openai-responses.provider';

let upstream: FakeUpstream;
let http: UpstreamHttp;
let responses: OpenAiResponses;
let vault: MemoryVault;

beforeEach(async () => {
  upstream = await FakeUpstream.start();
  http = new UpstreamHttp({ baseUrl: new URL(`${upstream.origin}/v1`) });
  responses = new OpenAiResponses(http);
  vault = new MemoryVault();
});
afterEach(async () => {
  await http.close();
  await upstream.stop();
});

const call = (overrides: Partial<ProviderCall> = {}): ProviderCall =>
  providerCall({ openVault: () => vault, features: { reasoning: ['low', 'high'] }, ...overrides });
const tools = [{ type: 'function', function: { name: 'weather' } }];

function reply(output: ResponseOutputItem[], overrides: Partial<Response> = {}): void {
  upstream.answer = (answer) => answer.end(JSON.stringify(response({ output, ...overrides })));
}

function replyStream(...steps: readonly Step[]): void {
  upstream.answer = (answer) =>
    answer.writeHead(200, { 'content-type': 'text/event-stream' }).end(stream(created(), ...steps, completed()));
}

async function messageOf(request: Partial<ChatRequest>): Promise<ChatMessage> {
  const { body } = await responses.complete(chatRequest({ tools, ...request }), call());
  return (body.choices as [{ message: ChatMessage }])[0].message;
}

async function collect(request: Partial<ChatRequest>): Promise<readonly ChatEvent[]> {
  const events: ChatEvent[] = [];
  const opened = await responses.openStream(chatRequest({ tools, ...request }), call());
  await opened.pipe({ write: (batch) => events.push(...batch) > 0, drained: () => Promise.resolve() });
  return events;
}

const received = (): Record<string, unknown> =>
  JSON.parse(upstream.received.at(-1)?.body ?? '') as Record<string, unknown>;
const sealed = (text: string, summary: readonly unknown[] = []) => ({
  type: 'reasoning',
  summary,
  encrypted_content: text,
});

it('calls the endpoint of the base URL and stores nothing there', async () => {
  reply([message([outputText('Hello')])]);
  await responses.complete(chatRequest(), call());
  expect(upstream.received[0]?.url).toBe('/v1/responses');
  expect(received()).toMatchObject({ store: false });
});

it('returns encrypted reasoning with the results of each step of a tool loop', async () => {
  const question: ChatMessage = { role: 'user', content: 'Which coat?' };
  reply([
    reasoning('one', ['Think.']),
    message([outputText('I look.')], 'commentary'),
    functionCall('call_1', 'weather', '{"day":1}'),
    functionCall('call_2', 'weather', '{"day":2}'),
  ]);
  const first = await messageOf({ messages: [question] });
  const results: ChatMessage[] = [
    { role: 'tool', tool_call_id: 'call_1', content: 'rain' },
    { role: 'tool', tool_call_id: 'call_2', content: 'sun' },
  ];
  replyStream(...reasoningSteps('two', [], 0), ...callSteps('call_3', 'weather', ['{"day"', ':3}'], 1));
  await collect({ messages: [question, first, ...results] });
  const firstSteps = [
    { type: 'message', role: 'user', content: 'Which coat?' },
    sealed('one', [{ type: 'summary_text', text: 'Think.' }]),
    { type: 'message', role: 'assistant', content: 'I look.', phase: 'commentary' },
    { type: 'function_call', call_id: 'call_1', name: 'weather', arguments: '{"day":1}' },
    { type: 'function_call', call_id: 'call_2', name: 'weather', arguments: '{"day":2}' },
    { type: 'function_call_output', call_id: 'call_1', output: 'rain' },
    { type: 'function_call_output', call_id: 'call_2', output: 'sun' },
  ];
  expect(received()['input']).toEqual(firstSteps);

  reply([message([outputText('A raincoat.')])]);
  const second: ChatMessage = {
    role: 'assistant',
    content: null,
    tool_calls: [{ id: 'call_3', type: 'function', function: { name: 'weather', arguments: '{"day":3}' } }],
  };
  const third: ChatMessage = { role: 'tool', tool_call_id: 'call_3', content: 'snow' };
  await messageOf({ messages: [question, first, ...results, second, third] });
  expect(received()['input']).toEqual([
    ...firstSteps,
    sealed('two'),
    { type: 'function_call', call_id: 'call_3', name: 'weather', arguments: '{"day":3}' },
    { type: 'function_call_output', call_id: 'call_3', output: 'snow' },
  ]);
});

it('continues without reasoning that the vault no longer has', async () => {
  const answer: ChatMessage = {
    role: 'assistant',
    tool_calls: [{ id: 'old', type: 'function', function: { name: 'f', arguments: '' } }],
  };
  reply([message([outputText('Done.')])]);
  await messageOf({ messages: [answer, { role: 'tool', tool_call_id: 'old', content: '1' }] });
  expect(received()['input']).toEqual([
    { type: 'function_call', call_id: 'old', name: 'f', arguments: '' },
    { type: 'function_call_output', call_id: 'old', output: '1' },
  ]);
});

it.each(['complete', 'openStream'] as const)(
  'sends again without reasoning that another account made (%s)',
  async (method) => {
    vault.states.set('call_1', JSON.stringify([sealed('foreign'), { type: 'call', id: 'call_1' }]));
    const toolCall = { id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{}' } };
    const messages: ChatMessage[] = [
      { role: 'assistant', tool_calls: [toolCall] },
      { role: 'tool', tool_call_id: 'call_1', content: 'rain' },
    ];
    const error = { code: 'invalid_encrypted_content', type: 'invalid_request_error', message: 'x' };
    upstream.answer = (answer, { body }) => {
      if (body.includes('foreign')) answer.writeHead(400).end(JSON.stringify({ error }));
      else if (method === 'complete')
        answer.end(JSON.stringify(response({ output: [message([outputText('Coat.')])] })));
      else
        answer
          .writeHead(200, { 'content-type': 'text/event-stream' })
          .end(stream(created(), textDelta('Coat.'), completed()));
    };
    const request = chatRequest({ messages, tools });
    await (method === 'complete' ? responses.complete(request, call()) : responses.openStream(request, call()));
    expect(upstream.received.map(({ body }) => body.includes('foreign'))).toEqual([true, false]);

    upstream.answer = (answer) => answer.writeHead(400).end(JSON.stringify({ error }));
    expect((await providerErrorOf(responses[method](request, call()))).code).toBe('validation_failed');
    expect(upstream.received).toHaveLength(4);
  },
);

it('uses the vault only for answers that call tools and for conversations with such answers', async () => {
  reply([reasoning('one'), message([outputText('Hello')])]);
  await messageOf({
    messages: [
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: 'Hello' },
      { role: 'user', content: 'So?' },
    ],
  });
  reply([functionCall('call_1', 'weather', '{}')]);
  await messageOf({});
  expect([vault.states.size, vault.loaded.length]).toEqual([0, 0]);
});

it('refuses unsupported features before anything is sent, and so does the check', async () => {
  const request = chatRequest({ stop: 'x' });
  expect((await providerErrorOf(responses.complete(request, call()))).options.param).toBe('stop');
  expect((await providerErrorOf(responses.openStream(request, call()))).options.param).toBe('stop');
  expect(() => responses.assertSupported(request, call())).toThrow('stop');
  expect(() => responses.assertSupported(chatRequest(), call())).not.toThrow();
  expect(upstream.connections).toBe(0);
});

it.each([
  [429, 'rate_limit_exceeded', 'provider_rate_limited'],
  [429, 'insufficient_quota', 'provider_error'],
  [400, 'context_length_exceeded', 'validation_failed'],
  [401, 'invalid_api_key', 'provider_error'],
  [500, 'server_error', 'provider_unavailable'],
])('maps a refusal with status %i and code %s to %s', async (status, code, expected) => {
  upstream.answer = (answer) =>
    answer
      .writeHead(status)
      .end(JSON.stringify({ error: { code, type: 'invalid_request_error', message: 'org-Secret1' } }));
  for (const refusal of [responses.complete(chatRequest(), call()), responses.openStream(chatRequest(), call())]) {
    const error = await providerErrorOf(refusal);
    expect(error.code).toBe(expected);
    expect(error.message).not.toContain('Secret');
  }
});

it.each([
  ['input[4].content[0].image_url', 'messages'],
  ['text.format.schema', 'response_format.json_schema.schema'],
  ['reasoning.effort', 'reasoning_effort'],
  ['max_output_tokens', 'max_completion_tokens'],
  ['temperature', 'temperature'],
])('names a refused field %s as chat does, %s', async (field, param) => {
  const error = { code: null, type: 'invalid_request_error', param: field, message: 'x' };
  upstream.answer = (answer) => answer.writeHead(400).end(JSON.stringify({ error }));
  const request = chatRequest({ max_completion_tokens: 100 });
  for (const refusal of [responses.complete(request, call()), responses.openItemStream(request, [], call())]) {
    expect(await providerErrorOf(refusal)).toMatchObject({ code: 'validation_failed', options: { param } });
  }
});

it('closes the upstream connection when the client disconnects in mid-stream', async () => {
  const abort = new AbortController();
  const disconnected = upstream.nextDisconnect();
  upstream.answer = (answer) =>
    void answer.writeHead(200, { 'content-type': 'text/event-stream' }).write(stream(created(), textDelta('Hi')));
  const opened = await responses.openStream(chatRequest(), call({ signal: abort.signal }));
  const piped = providerErrorOf(opened.pipe({ write: () => true, drained: () => Promise.resolve() }));
  abort.abort();
  await expect(disconnected).resolves.toBeUndefined();
  await piped;
});

describe('any answer', () => {
  const text = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 });
  const item = fc.oneof(
    fc.record({ kind: fc.constant('reasoning' as const), text }),
    fc.record({ kind: fc.constant('message' as const), text }),
    fc.record({ kind: fc.constant('call' as const), text }),
  );
  const answers = fc.array(item, { maxLength: 6 });
  type Item = { readonly kind: 'reasoning' | 'message' | 'call'; readonly text: string };

  const toItem = ({ kind, text: written }: Item, place: number): ResponseOutputItem => {
    if (kind === 'reasoning') return reasoning(`sealed_${place}`, [written]);
    if (kind === 'message') return message([outputText(written)]);
    return functionCall(`call_${place}`, 'f', written);
  };
  const toSteps = ({ kind, text: written }: Item, place: number): Step[] => {
    if (kind === 'reasoning') return reasoningSteps(`sealed_${place}`, [[written]], place);
    if (kind === 'call') return callSteps(`call_${place}`, 'f', [...written], place);
    return [...[...written].map((piece) => textDelta(piece, place)), done(message([outputText(written)]), place)];
  };

  it('is equal as a whole and as a stream, and is sent back with all reasoning that another item follows', async () => {
    await fc.assert(
      fc.asyncProperty(answers, async (items) => {
        vault.states.clear();
        reply(items.map(toItem));
        const whole = await messageOf({});
        const kept = [...vault.states];
        vault.states.clear();
        replyStream(...items.flatMap(toSteps));
        const events = await collect({});
        expect([...vault.states]).toEqual(kept);
        expect(assembled(events)).toEqual(whole);

        const calls = items.filter(({ kind }) => kind === 'call');
        if (calls.length === 0) return;
        reply([]);
        await messageOf({ messages: [whole] });
        const sent = received()['input'] as readonly { type: string; encrypted_content?: string }[];
        // Several messages of an answer come back as one, at the place of the first.
        const firstText = items.findIndex(({ kind }) => kind === 'message');
        const last = items.findLastIndex(({ kind }, place) => kind === 'call' || place === firstText);
        const due = items.flatMap(({ kind }, place) =>
          kind === 'reasoning' && place < last ? [`sealed_${place}`] : [],
        );
        expect(sent.flatMap((each) => (each.type === 'reasoning' ? [each.encrypted_content] : []))).toEqual(due);
        expect(sent.at(-1)?.type).not.toBe('reasoning');
        expect(sent.filter(({ type }) => type === 'function_call')).toHaveLength(calls.length);
      }),
      { numRuns: 60 },
    );
  });

  /** The message that a client assembles from the events. */
  function assembled(events: readonly ChatEvent[]): ChatMessage {
    let content = '';
    let thoughts = '';
    const calls: { id: string; type: string; function: { name: string; arguments: string } }[] = [];
    for (const event of events) {
      if (event.type === 'text') content += event.text;
      if (event.type === 'reasoning') thoughts += event.text;
      if (event.type === 'tool_call')
        calls.push({ id: event.id, type: 'function', function: { name: event.name, arguments: '' } });
      const open = event.type === 'tool_input' ? calls[event.index] : undefined;
      if (open !== undefined && event.type === 'tool_input') open.function.arguments += event.text;
    }
    return {
      role: 'assistant',
      content: content === '' ? null : content,
      refusal: null,
      ...(thoughts !== '' && { reasoning_content: thoughts }),
      ...(calls.length > 0 && { tool_calls: calls }),
    };
  }
});
