/**
 * What every provider must do, in any dialect: a vendor is complete when its row here passes. Upstreams
 * are fakes on the loopback interface; no key and no network is needed.
 */
import { Test } from '@nestjs/testing';
import { openChatChunks } from '../../src/chat/chat-chunks';
import type { AppConfig } from '../../src/core/config/app-config';
import { ConfigModule } from '../../src/core/config/config.module';
import { PROVIDER_MODULES } from '../../src/provider-modules';
import type { ChatCompletionBody, ChatProvider } from '../../src/providers/contract/chat';
import type { ChatEvent } from '../../src/providers/contract/chat-event';
import type { CompletionsProvider } from '../../src/providers/contract/completions';
import type { EmbeddingsProvider } from '../../src/providers/contract/embeddings';
import type { Provider } from '../../src/providers/contract/provider';
import type { ProviderCall } from '../../src/providers/contract/provider-call';
import { ProvidersModule } from '../../src/providers/providers.module';
import { ProvidersService } from '../../src/providers/providers.service';
import { type Answer, FakeUpstream } from './fake-upstream';
import { chatRequest, choiceOf, CollectingSink, deltaOf, providerCall, providerErrorOf } from './provider-call';
import { SUBJECTS } from './subjects';
import { OPENAI_ANSWERS, type TextAnswers } from './text-answers';

describe.each([
  ['ProvidersModule', [ProvidersModule], SUBJECTS.filter(({ outside }) => outside !== true)],
  ['src/provider-modules.ts', PROVIDER_MODULES, SUBJECTS],
] as const)('%s', (_name, modules, subjects) => {
  it('has a row in subjects.ts for every provider, which is marked where it is from outside', async () => {
    const settings: Partial<AppConfig> = { providers: {}, providerInstances: [] };
    const config = ConfigModule.forRoot(settings as AppConfig);
    const module = await Test.createTestingModule({ imports: [config, ...modules] }).compile();
    await module.init();
    const ids = module
      .get(ProvidersService)
      .describe()
      .map(({ id }) => id);
    expect(ids).toEqual(subjects.map(({ definition }) => definition.id).toSorted());
    await module.close();
  });
});

describe.each(SUBJECTS.map((subject) => [subject.definition.id, subject] as const))('provider %s', (id, subject) => {
  const answers: TextAnswers = subject.textAnswers ?? (subject.speaksOpenAi ? OPENAI_ANSWERS : {});
  let upstream: FakeUpstream;
  let provider: Provider;

  beforeEach(async () => {
    upstream = await FakeUpstream.start();
    const created = subject.definition.create(subject.environment(upstream.origin));
    if (created === null) throw new Error(`${id} is not configured by its own environment`);
    provider = created;
  });

  afterEach(async () => {
    await provider.close();
    await upstream.stop();
  });

  const chat = (answer: Answer | undefined): ChatProvider | null => {
    if (answer !== undefined) upstream.answer = answer;
    return provider.chat ?? null;
  };
  const call = () => providerCall({ quirks: provider.quirks });

  it('has exactly the members that its capabilities declare', () => {
    const members = Object.keys(provider.capabilities).filter((capability) => capability in provider);
    const promised = Object.entries(provider.capabilities).filter(([, offered]) => offered);
    expect(members.toSorted()).toEqual(promised.map(([capability]) => capability).toSorted());
    expect(provider.id).toBe(id);
  });

  it('answers a chat, if supported, with text, usage and the public model', async () => {
    const completed = await chat(answers.reply)?.complete(chatRequest(), call());
    if (completed === undefined) return;
    const { body, usage, outputBytes } = completed;
    const { message, finish_reason: reason } = body.choices[0] as {
      message: Record<string, unknown>;
      finish_reason: string;
    };
    expect(body).toMatchObject({
      object: 'chat.completion',
      model: 'vendor/public-model',
    } satisfies Partial<ChatCompletionBody>);
    expect(body).not.toHaveProperty('usage');
    expect(message).toMatchObject({ role: 'assistant', refusal: null });
    expect(String(message['content']).length).toBeGreaterThan(0);
    expect(reason).toBe('stop');
    expect(usage?.outputText).toBeGreaterThan(0);
    expect(outputBytes).toBe(Buffer.byteLength(String(message['content'])));
  });

  it('streams a chat, if supported, in chunks that strict clients accept', async () => {
    const offered = chat(answers.stream);
    if (offered === null) return;
    const stream = await openChatChunks(offered, chatRequest({ stream: true }), call());
    const sink = new CollectingSink();
    await stream.pipe(sink);
    const { chunks } = sink;
    expect(deltaOf(chunks[0])['role']).toBe('assistant');
    expect(chunks.every((each) => Array.isArray(each['choices']) && each['model'] === 'vendor/public-model')).toBe(
      true,
    );
    expect(chunks.some((each) => 'usage' in each || each['system_fingerprint'] === null)).toBe(false);
    expect(new Set(chunks.map((each) => `${String(each['id'])} ${String(each['created'])}`)).size).toBe(1);
    const reasons = chunks.map((each) => choiceOf(each)['finish_reason']).filter((reason) => reason !== null);
    expect(reasons).toEqual([stream.progress.finishReason]);
    expect(stream.progress.outputBytes).toBe(Buffer.byteLength(sink.text));
    expect(stream.progress.usage?.outputText).toBeGreaterThan(0);
    expect(stream.progress.id).toBe(chunks[0]?.['id']);
  });

  it('streams a chat, if supported, as typed events that carry the same text', async () => {
    const offered = chat(answers.stream);
    if (offered === null) return;
    const stream = await offered.openStream(chatRequest({ stream: true }), call());
    const events: ChatEvent[] = [];
    await stream.pipe({ write: (batch) => events.push(...batch) > 0, drained: () => Promise.resolve() });
    const whole = await chat(answers.reply)?.complete(chatRequest(), call());
    const text = events.map((event) => (event.type === 'text' ? event.text : '')).join('');
    expect(whole?.body.choices).toMatchObject([{ message: { content: text } }]);
    expect(events[0]).toMatchObject({ type: 'start', id: stream.progress.id, created: stream.progress.created });
    expect(events.filter(({ type }) => type === 'finish')).toEqual([{ type: 'finish', reason: 'stop' }]);
    expect(events.findLast(({ type }) => type === 'usage')).toEqual({ type: 'usage', usage: stream.progress.usage });
    expect(stream.progress.outputBytes).toBe(Buffer.byteLength(text));
  });

  it.each(['complete', 'openStream', 'openChunkStream'] as const)(
    'reports a rate limit of a chat with its Retry-After (%s)',
    async (method) => {
      const content = subject.rateLimitPrompt ?? 'Hello';
      const request = chatRequest({ messages: [{ role: 'user', content }] });
      const refusal = chat(answers.rateLimit)?.[method]?.(request, call());
      if (refusal === undefined) return;
      const error = await providerErrorOf(refusal);
      expect([error.code, error.options.retryAfterSeconds, error.options.fallback]).toEqual([
        'provider_rate_limited',
        7,
        true,
      ]);
      expect(error.message).not.toContain('Secret');
    },
  );

  const completions = (answer: Answer | undefined): CompletionsProvider | null => {
    if (answer !== undefined) upstream.answer = answer;
    return provider.completions ?? null;
  };
  const embeddings = (answer: Answer | undefined): EmbeddingsProvider | null => {
    if (answer !== undefined) upstream.answer = answer;
    return provider.embeddings ?? null;
  };
  const prompt = { model: 'vendor/public-model', prompt: 'Hello', max_tokens: 16 };
  const texts = { model: 'vendor/public-model', input: ['one', 'two'] };

  it('refuses a service tier with another price before anything is sent', async () => {
    if (subject.definition.credentials.length === 0) return;
    const tier = { service_tier: 'priority' };
    const calls = [
      provider.chat?.complete(chatRequest(tier), call()),
      provider.chat?.openStream(chatRequest({ ...tier, stream: true }), call()),
      provider.completions?.complete({ ...prompt, ...tier }, call()),
      provider.embeddings?.embed({ ...texts, ...tier }, call()),
    ].filter((each) => each !== undefined);
    for (const refused of calls) {
      const { code, options } = await providerErrorOf(refused);
      expect([code, options.param]).toEqual(['validation_failed', 'service_tier']);
    }
    expect(upstream.received).toEqual([]);
  });

  it('completes a text, if supported, with usage and the public model', async () => {
    const completed = await completions(answers.completion)?.complete(prompt, call());
    if (completed === undefined) return;
    const { body, usage, outputBytes } = completed;
    const [{ text, finish_reason: reason }] = body.choices;
    expect(body).toMatchObject({ object: 'text_completion', model: 'vendor/public-model' });
    expect(body.id).toMatch(/^cmpl-/);
    expect([text.length > 0, reason, usage?.outputText]).toEqual([true, 'stop', expect.any(Number)]);
    expect(outputBytes).toBe(Buffer.byteLength(text));
  });

  it('streams a text, if supported, in chunks with one id and one finish reason', async () => {
    const stream = await completions(answers.completionStream)?.openStream({ ...prompt, stream: true }, call());
    if (stream === undefined) return;
    const sink = new CollectingSink();
    await stream.pipe(sink);
    const texts = sink.chunks.map((each) => String(choiceOf(each)['text']));
    const reasons = sink.chunks.map((each) => choiceOf(each)['finish_reason']).filter((reason) => reason !== null);
    expect(new Set(sink.chunks.map(({ id, object, model }) => [id, object, model].join(' '))).size).toBe(1);
    expect(sink.chunks[0]).toMatchObject({ object: 'text_completion', model: 'vendor/public-model' });
    expect(sink.chunks.some((each) => 'usage' in each)).toBe(false);
    expect(reasons).toEqual([stream.progress.finishReason]);
    expect(stream.progress.outputBytes).toBe(Buffer.byteLength(texts.join('')));
    expect(stream.progress.usage?.outputText).toBeGreaterThan(0);
  });

  it('embeds texts, if supported, in the order of the input', async () => {
    const embedded = await embeddings(answers.embeddings)?.embed(texts, call());
    if (embedded === undefined) return;
    const { vectors, usage } = embedded;
    expect(vectors).toHaveLength(2);
    expect(new Set(vectors.map(({ length }) => length)).size).toBe(1);
    expect(usage?.inputText).toBeGreaterThan(0);
    const expected =
      answers.embeddings === undefined
        ? vectors
        : [
            [0.6, 0.8],
            [1, 0],
          ];
    expect(vectors).toEqual(expected);
  });

  it('notes the upstream name of the model that answered on the span of a call', async () => {
    const noted: unknown[] = [];
    const trace = {
      traceparent: undefined,
      noteServer: () => undefined,
      noteModel: (name: unknown) => noted.push(name),
    };
    const traced = (): ProviderCall => ({ ...call(), trace });
    const sink = { write: () => true, drained: () => Promise.resolve() };
    await chat(answers.reply)?.complete(chatRequest(), traced());
    await (await chat(answers.stream)?.openStream(chatRequest({ stream: true }), traced()))?.pipe(sink);
    await completions(answers.completion)?.complete(prompt, traced());
    const texting = await completions(answers.completionStream)?.openStream({ ...prompt, stream: true }, traced());
    await texting?.pipe(sink);
    await embeddings(answers.embeddings)?.embed(texts, traced());
    const answered = [
      provider.chat && answers.reply,
      provider.chat && answers.stream,
      provider.completions && answers.completion,
      provider.completions && answers.completionStream,
      // Only OpenAI's format names the model of embeddings.
      provider.embeddings && (answers.embeddings === OPENAI_ANSWERS.embeddings ? answers.embeddings : undefined),
    ].filter((answer) => answer !== undefined);
    expect(noted).toEqual(answered.map(() => 'upstream-model'));
  });

  it('reports a rate limit with its Retry-After from every capability', async () => {
    const text = subject.rateLimitPrompt ?? 'Hello';
    const refusals = [
      completions(answers.rateLimit)?.complete({ ...prompt, prompt: text }, call()),
      completions(answers.rateLimit)?.openStream({ ...prompt, prompt: text, stream: true }, call()),
      embeddings(answers.rateLimit)?.embed({ ...texts, input: text }, call()),
    ].filter((refusal) => refusal !== undefined);
    for (const refusal of refusals) {
      const { code, options } = await providerErrorOf(refusal);
      expect([code, options.retryAfterSeconds]).toEqual(['provider_rate_limited', 7]);
    }
  });

  it('forwards no client routing fields from any capability', async () => {
    if (!subject.speaksOpenAi) return;
    const hostile = { routing: {}, x_host: 'http://127.0.0.1:9/evil', later_field: 1 };
    await embeddings(answers.embeddings)?.embed({ ...texts, ...hostile }, call());
    await completions(answers.completion)?.complete({ ...prompt, ...hostile }, call());
    const { capabilities, quirks } = provider;
    expect(upstream.received.map(({ url }) => url)).toEqual([
      ...(capabilities.embeddings ? ['/v1/embeddings'] : []),
      ...(capabilities.completions ? ['/v1/completions'] : []),
    ]);
    for (const { body } of upstream.received) {
      const sent = JSON.parse(body) as object;
      const passedOn = quirks.acceptFields === undefined ? { later_field: 1 } : {};
      expect(sent).toMatchObject({ model: 'upstream-model', ...passedOn });
      expect(Object.keys(sent).filter((field) => field === 'routing' || field.startsWith('x_'))).toEqual([]);
    }
  });

  it('forwards no host, key or routing of the client', async () => {
    if (answers.reply === undefined || provider.chat === undefined || subject.refusesUnknownFields === true) return;
    const fields = ['api_base', 'base_url', 'endpoint', 'custom_host', 'api_key', 'proxy', 'x_host', 'routing'];
    const hostile = Object.fromEntries(fields.map((field) => [field, 'http://127.0.0.1:9/evil']));
    const offered = chat(answers.reply);
    await offered?.complete(chatRequest(), call());
    await offered?.complete(chatRequest(hostile), call());
    const [usual, received] = upstream.received;
    expect(received?.url).toBe(usual?.url);
    expect(upstream.received).toHaveLength(2);
    expect(`http://${received?.headers.host}`).toBe(upstream.origin);
    expect(JSON.parse(received?.body ?? '')).not.toHaveProperty('routing');
  });
});
