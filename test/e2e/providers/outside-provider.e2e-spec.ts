/** A provider that is not part of `src/providers`: its own module, found by its decorator. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type LoggerService, Module } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import { AppModule } from '../../../src/app.module';
import type { ProviderEnvironment } from '../../../src/core/config/provider-environment';
import { createFastifyAdapter } from '../../../src/core/http/fastify-adapter';
import { type Clock, systemClock } from '../../../src/core/time/clock';
import type { ConnectedConfig } from '../../../src/create-gateway';
import type { ChatCompletionResult, ChatProvider, ChatRequest, ChatStream } from '../../../src/providers/contract/chat';
import type { ChatEvent } from '../../../src/providers/contract/chat-event';
import { ModelProvider } from '../../../src/providers/contract/model-provider.decorator';
import type { Provider, ProviderDefinition } from '../../../src/providers/contract/provider';
import type { ProviderCall } from '../../../src/providers/contract/provider-call';
import { NO_USAGE } from '../../../src/providers/contract/usage';
import { openEventStream } from '../../../src/providers/kit/event-stream';
import { TestGateway } from '../../harness/gateway';

const WORDS = ['Hello', ' from', ' "outside"', '.'];
const TEXT = WORDS.join('');
const USAGE = { ...NO_USAGE, inputText: 3, outputText: 4 };

class EchoChat implements ChatProvider {
  async complete(_request: ChatRequest, { publicModel }: ProviderCall): Promise<ChatCompletionResult> {
    const message = { role: 'assistant', content: TEXT, refusal: null };
    return {
      body: {
        id: 'outside-1',
        object: 'chat.completion',
        created: 1,
        model: publicModel,
        choices: [{ index: 0, message, logprobs: null, finish_reason: 'stop' }],
        system_fingerprint: null,
      },
      usage: USAGE,
      outputBytes: Buffer.byteLength(TEXT),
    };
  }

  openStream({ messages }: ChatRequest, call: ProviderCall): Promise<ChatStream> {
    return openEventStream(eventsOf(messages[0]?.content !== 'cut'), call);
  }
}

async function* eventsOf(isComplete: boolean): AsyncGenerator<readonly ChatEvent[]> {
  yield [{ type: 'start', id: 'outside-1', created: 1 }];
  for (const text of WORDS) yield [{ type: 'text', text }];
  if (!isComplete) return;
  yield [
    { type: 'finish', reason: 'stop' },
    { type: 'usage', usage: USAGE },
  ];
}

@ModelProvider()
class OutsideProvider implements ProviderDefinition {
  readonly id = 'outside';
  readonly credentials = ['OUTSIDE_API_KEY'];

  create(environment: ProviderEnvironment): Provider | null {
    if (environment['OUTSIDE_API_KEY'] === undefined) return null;
    return {
      id: this.id,
      capabilities: {
        chat: true,
        completions: false,
        embeddings: false,
        images: false,
        speech: false,
        transcription: false,
        video: false,
        music: false,
      },
      quirks: {},
      chat: new EchoChat(),
      close: () => Promise.resolve(),
    };
  }
}

@Module({ providers: [OutsideProvider] })
class OutsideModule {}

const MODEL = {
  id: 'outside/echo',
  display_name: 'Echo',
  modality: 'text',
  input_modalities: ['text'],
  output_modalities: ['text'],
  deployments: [{ provider: 'outside', upstream_model: 'echo' }],
  prices: [
    {
      effective_from: '2026-01-01',
      source: 'made up',
      checked_at: '2026-01-01',
      tokens: { per_1m_micro: { input: 1_000_000, output: 2_000_000 } },
    },
  ],
};

/** The application as `createGateway` makes it, with one more module. */
async function createGatewayWithModule(
  config: ConnectedConfig,
  _logger: LoggerService | false,
  clock: Clock = systemClock,
): Promise<NestFastifyApplication> {
  const adapter = createFastifyAdapter(config, clock);
  // The request path is installed while modules are created, before a testing module gets its adapter.
  const host = Object.assign(new HttpAdapterHost(), { httpAdapter: adapter });
  const module = await Test.createTestingModule({ imports: [AppModule.forRoot(config, clock), OutsideModule] })
    .overrideProvider(HttpAdapterHost)
    .useValue(host)
    .compile();
  const app = module.createNestApplication<NestFastifyApplication>(adapter, { bodyParser: false, logger: false });
  return app.init();
}

describe('a provider from a module outside src/providers', () => {
  const catalog = mkdtempSync(join(tmpdir(), 'gateway-catalog-'));
  let gateway: TestGateway;
  let key: string;

  beforeAll(async () => {
    writeFileSync(join(catalog, 'outside.json'), JSON.stringify([MODEL]));
    gateway = await TestGateway.start(
      { CATALOG_DIR: catalog, OUTSIDE_API_KEY: 'secret' },
      systemClock,
      undefined,
      createGatewayWithModule,
    );
    ({ key } = await gateway.customer());
  });

  afterAll(async () => {
    await gateway.stop();
    rmSync(catalog, { recursive: true, force: true });
  });

  const ask = (path: string, body: object) => gateway.call(path, { key, body: { model: MODEL.id, ...body } });
  const messages = [{ role: 'user', content: 'Hi' }];
  const parsed = (events: readonly string[]) => events.slice(0, -1).map((event) => JSON.parse(event));
  /** 3 prompt tokens at 1, 4 of output at 2 millionths. */
  const COST_MICRO = 11;

  it('serves a chat completion', async () => {
    const { status, json } = await ask('/v1/chat/completions', { messages });
    expect([status, json.choices[0].message.content, json.usage.x_llm_cost_micro]).toEqual([200, TEXT, COST_MICRO]);
  });

  it('streams a chat completion from its typed events', async () => {
    const { status, events } = await ask('/v1/chat/completions', { messages, stream: true });
    const chunks = parsed(events);
    expect([status, events.at(-1)]).toEqual([200, '[DONE]']);
    expect(chunks.map(({ choices: [choice] }) => choice?.delta)).toEqual([
      { role: 'assistant', content: null },
      ...WORDS.map((content) => ({ content })),
      {},
      undefined,
    ]);
    expect(chunks.at(-2).choices[0].finish_reason).toBe('stop');
    expect(chunks.at(-1).usage).toMatchObject({ completion_tokens: 4, x_llm_cost_micro: COST_MICRO });
    expect(new Set(chunks.map(({ id, model }) => `${id} ${model}`))).toEqual(new Set([`outside-1 ${MODEL.id}`]));
  });

  it('streams a completion and a response from the same events', async () => {
    const completion = await ask('/v1/completions', { prompt: 'Hi', stream: true });
    const pieces = parsed(completion.events).map(({ choices: [choice] }) => choice?.text ?? '');
    expect(pieces.join('')).toBe(TEXT);
    const response = await ask('/v1/responses', { input: 'Hi', stream: true });
    const last = parsed(response.events).at(-1);
    expect([last.type, last.response.output[0].content[0].text]).toEqual(['response.completed', TEXT]);
  });

  it('never ends a stream normally when its finish is missing', async () => {
    const cut = [{ role: 'user', content: 'cut' }];
    const { events } = await ask('/v1/chat/completions', { messages: cut, stream: true });
    const chunks = parsed(events);
    expect(chunks.at(-1).error.code).toBe('provider_disconnect');
    expect(chunks.some(({ choices }) => choices?.[0]?.finish_reason != null)).toBe(false);
  });
});
