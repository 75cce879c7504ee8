/** The streams of `translate.ts`: one answer in the wire format of each dialect. */
import { createRequire } from 'node:module';
import type { ChatRequest, ChunkStream } from '../../src/providers/contract/chat.js';
import type { ProviderCall } from '../../src/providers/contract/provider-call.js';
import type { UpstreamHttp } from '../../src/providers/kit/upstream-http.js';

export interface Contender {
  readonly name: string;
  /** `null`: the bytes are forwarded as they are. */
  readonly open: ((http: UpstreamHttp, call: ProviderCall) => Promise<ChunkStream>) | null;
  /** The events of an answer with one chunk for each text. */
  readonly events: (texts: readonly string[]) => readonly string[];
}

const require = createRequire(import.meta.url);
const { chatChunks, openChatChunks, RenderedStream } =
  require('../../dist/src/chat/chat-chunks.js') as typeof import('../../src/chat/chat-chunks.js');
const { OpenAiChat } =
  require('../../dist/src/providers/dialects/openai-chat/openai-chat.provider.js') as typeof import('../../src/providers/dialects/openai-chat/openai-chat.provider.js');
const { OpenAiResponses } =
  require('../../dist/src/providers/dialects/openai-responses/openai-responses.provider.js') as typeof import('../../src/providers/dialects/openai-responses/openai-responses.provider.js');
const { AnthropicMessages } =
  require('../../dist/src/providers/dialects/anthropic-messages/anthropic-messages.provider.js') as typeof import('../../src/providers/dialects/anthropic-messages/anthropic-messages.provider.js');
const { GeminiGenerate } =
  require('../../dist/src/providers/dialects/gemini-generate/gemini-generate.provider.js') as typeof import('../../src/providers/dialects/gemini-generate/gemini-generate.provider.js');

const REQUEST: ChatRequest = { model: 'vendor/model', messages: [{ role: 'user', content: 'Hello' }] };

const toEvent = (data: object): string => `data: ${JSON.stringify(data)}\n\n`;
const toNamedEvent = (data: { readonly type: string }): string => `event: ${data.type}\n${toEvent(data)}`;

function openAiEvents(texts: readonly string[]): readonly string[] {
  const chunk = (choices: readonly object[], usage: object | null = null): string =>
    toEvent({
      id: 'chatcmpl-D0u1fVqEXAMPLEaBcDeFgHiJk',
      object: 'chat.completion.chunk',
      created: 1_790_000_000,
      model: 'model-2026-09-01',
      service_tier: 'default',
      system_fingerprint: 'fp_0123456789',
      choices,
      usage,
    });
  const choice = (delta: object, reason: string | null = null): object => ({
    index: 0,
    delta,
    logprobs: null,
    finish_reason: reason,
  });
  return [
    chunk([choice({ role: 'assistant', content: '', refusal: null })]),
    ...texts.map((content) => chunk([choice({ content })])),
    chunk([choice({}, 'stop')]),
    chunk([], { prompt_tokens: 9, completion_tokens: texts.length, total_tokens: 9 + texts.length }),
    'data: [DONE]\n\n',
  ];
}

function messageEvents(texts: readonly string[]): readonly string[] {
  const usage = { input_tokens: 9, output_tokens: 1, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 };
  const message = { id: 'msg_01', type: 'message', role: 'assistant', model: 'model', content: [], usage };
  return [
    { type: 'message_start', message },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'ping' },
    ...texts.map((text) => ({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } })),
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: texts.length } },
    { type: 'message_stop' },
  ].map(toNamedEvent);
}

function generateEvents(texts: readonly string[]): readonly string[] {
  return texts.map((text, at) => {
    const isLast = at === texts.length - 1;
    const content = { parts: [{ text }], role: 'model' };
    return toEvent({
      candidates: [{ content, index: 0, ...(isLast && { finishReason: 'STOP' }) }],
      usageMetadata: {
        promptTokenCount: 9,
        candidatesTokenCount: at + 1,
        totalTokenCount: at + 10,
        promptTokensDetails: [{ modality: 'TEXT', tokenCount: 9 }],
      },
      modelVersion: 'model',
      responseId: 'aBcDeFgHiJkLmNoPqRsTuV',
    });
  });
}

function responsesEvents(texts: readonly string[]): readonly string[] {
  const place = { item_id: 'msg_0123456789abcdef0123456789abcdef', output_index: 0 };
  const response = { id: 'resp_01', object: 'response', created_at: 1_790_000_000, model: 'model', output: [] };
  const text = { type: 'output_text', text: texts.join(''), annotations: [] };
  const item = { id: place.item_id, type: 'message', role: 'assistant', status: 'completed', content: [text] };
  const usage = { input_tokens: 9, output_tokens: texts.length, total_tokens: texts.length + 9 };
  const events = [
    { type: 'response.created', response: { ...response, status: 'in_progress' } },
    { type: 'response.output_item.added', output_index: 0, item: { ...item, status: 'in_progress', content: [] } },
    ...texts.map((delta) => ({
      type: 'response.output_text.delta',
      ...place,
      content_index: 0,
      delta,
      logprobs: [],
      obfuscation: 'aBcDeFgH',
    })),
    { type: 'response.output_item.done', output_index: 0, item },
    { type: 'response.completed', response: { ...response, status: 'completed', output: [item], usage } },
  ];
  return events.map((event, at) => {
    const numbered = { ...event, sequence_number: at };
    return toNamedEvent(numbered);
  });
}

/** The baseline first. */
export const CONTENDERS: readonly [Contender, ...Contender[]] = [
  { name: 'forwarded as it is', events: openAiEvents, open: null },
  {
    name: 'openai-chat',
    events: openAiEvents,
    open: (http, call) => openChatChunks(new OpenAiChat(http), REQUEST, call),
  },
  {
    name: 'openai-chat as events',
    events: openAiEvents,
    open: async (http, call) =>
      new RenderedStream(await new OpenAiChat(http).openStream(REQUEST, call), chatChunks(call.publicModel)),
  },
  {
    name: 'openai-responses',
    events: responsesEvents,
    open: (http, call) => openChatChunks(new OpenAiResponses(http), REQUEST, call),
  },
  {
    name: 'anthropic-messages',
    events: messageEvents,
    open: (http, call) => openChatChunks(new AnthropicMessages(() => http), REQUEST, call),
  },
  {
    name: 'gemini-generate',
    events: generateEvents,
    open: (http, call) => openChatChunks(new GeminiGenerate(http), REQUEST, call),
  },
];
