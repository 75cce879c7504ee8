import { choiceOf, CollectingSink, providerCall, providerErrorOf } from '../../../test/conformance/provider-call';
import type { ChatProvider } from '../../providers/contract/chat';
import type { CompletionRequest } from '../../providers/contract/completions';
import { systemClock } from '../../core/time/clock';
import { MockChat } from '../../providers/vendors/mock/mock-chat';
import { CompletionsOverChat, toChatRequest } from './completions-over-chat';
import { toCompletionRequest } from './completions.service';

const PROMPT = 'Say hello.[[mock: delay=0]]';

const request = (fields: Partial<CompletionRequest> = {}): CompletionRequest => ({
  model: 'mock/chat-1',
  prompt: PROMPT,
  max_tokens: 200,
  ...fields,
});
const completions = new CompletionsOverChat(new MockChat(systemClock));

interface Choice {
  readonly text: string;
  readonly logprobs: { readonly text_offset: number[] } | null;
  readonly finish_reason: string | null;
}

async function streamed(fields: Partial<CompletionRequest> = {}) {
  const stream = await completions.openStream(request({ ...fields, stream: true }), providerCall());
  const sink = new CollectingSink();
  await stream.pipe(sink);
  const choices = sink.chunks.map((chunk) => choiceOf(chunk) as unknown as Choice);
  return { chunks: sink.chunks, choices, progress: stream.progress };
}

describe('toCompletionRequest', () => {
  it('unwraps the prompt and applies the default max_tokens', () => {
    const body = { model: 'm/m', prompt: ['Once'], stop: null, routing: {}, x_trace: 1, top_k: 4 };
    expect(toCompletionRequest(body)).toEqual({ model: 'm/m', prompt: 'Once', max_tokens: 16, top_k: 4 });
  });

  it('keeps max_tokens of zero', () => {
    expect(toCompletionRequest({ model: 'm/m', prompt: '', max_tokens: 0 })).toEqual({
      model: 'm/m',
      prompt: '',
      max_tokens: 0,
    });
  });
});

describe('toChatRequest', () => {
  it('converts the prompt to a message and keeps shared fields', () => {
    const shared = { temperature: 0.5, stop: ['.'], seed: 3, user: 'ada', top_k: 4, stream: true };
    expect(
      toChatRequest(request({ ...shared, echo: true, best_of: 1, suffix: '', tools: [{}], messages: [] })),
    ).toEqual({
      model: 'mock/chat-1',
      messages: [{ role: 'user', content: PROMPT }],
      max_tokens: 200,
      ...shared,
    });
  });

  it.each([0, 5])('requests log probabilities of %d alternatives', (logprobs) => {
    expect(toChatRequest(request({ logprobs }))).toMatchObject({ logprobs: true, top_logprobs: logprobs });
  });

  it.each([
    [{ suffix: 'The end.' }, 'suffix'],
    [{ max_tokens: 0 }, 'max_tokens'],
    [{ echo: true, logprobs: 0 }, 'logprobs'],
  ])('rejects %j before sending, so that failover is possible', async (fields, param) => {
    const error = await providerErrorOf(completions.complete(request(fields), providerCall()));
    expect([error.code, error.options.param, error.options.phase]).toEqual(['validation_failed', param, 'connect']);
  });
});

describe('CompletionsOverChat', () => {
  it('converts a non-streamed chat response to a completion', async () => {
    const { body, usage, outputBytes } = await completions.complete(request(), providerCall());
    const [{ text }] = body.choices;
    expect(body).toEqual({
      id: expect.stringMatching(/^cmpl-/),
      object: 'text_completion',
      system_fingerprint: 'fp_mock',
      created: expect.any(Number),
      model: 'vendor/public-model',
      choices: [{ text: expect.stringContaining('hello'), index: 0, logprobs: null, finish_reason: 'stop' }],
    });
    expect(outputBytes).toBe(Buffer.byteLength(text));
    expect(usage?.outputText).toBeGreaterThan(0);
  });

  it('prepends the prompt for echo without charging for it', async () => {
    const plain = await completions.complete(request(), providerCall());
    const echoed = await completions.complete(request({ echo: true }), providerCall());
    expect(echoed.body.choices[0].text).toBe(PROMPT + plain.body.choices[0].text);
    expect(echoed.outputBytes).toBe(plain.outputBytes);
  });

  it('returns refusals as text and tool calls as empty text', async () => {
    const replying = (message: object, reason: string): ChatProvider => ({
      complete: async () => ({
        body: {
          id: 'up-1',
          object: 'chat.completion',
          created: 1,
          model: 'm/m',
          choices: [{ index: 0, message, logprobs: null, finish_reason: reason }],
          system_fingerprint: 'fp',
        },
        usage: null,
        outputBytes: 0,
      }),
      openStream: () => Promise.reject(new Error('not streamed')),
    });
    const choiceFrom = async (message: object, reason: string) => {
      const over = new CompletionsOverChat(replying(message, reason));
      return (await over.complete(request(), providerCall())).body.choices[0];
    };
    expect(await choiceFrom({ content: null, refusal: 'No.' }, 'content_filter')).toMatchObject({
      text: 'No.',
      finish_reason: 'content_filter',
    });
    expect((await choiceFrom({ content: '', refusal: 'No.' }, 'stop')).text).toBe('No.');
    expect((await choiceFrom({ content: 'Well. ', refusal: 'No.' }, 'stop')).text).toBe('Well. No.');
    expect(await choiceFrom({ content: null }, 'tool_calls')).toMatchObject({ text: '', finish_reason: 'stop' });
  });

  it('streams the same text under one id with a single final finish reason', async () => {
    const { chunks, choices, progress } = await streamed();
    const { body } = await completions.complete(request(), providerCall());
    expect(choices.map(({ text }) => text).join('')).toBe(body.choices[0].text);
    expect(new Set(chunks.map(({ id, object, created, model }) => [id, object, created, model].join(' '))).size).toBe(
      1,
    );
    expect(chunks[0]?.['id']).toMatch(/^cmpl-/);
    expect(choices.map((choice) => choice.finish_reason).filter((reason) => reason !== null)).toEqual(['stop']);
    expect(choices.at(-1)?.finish_reason).toBe('stop');
    expect(progress.outputBytes).toBe(Buffer.byteLength(body.choices[0].text));
  });

  it('streams the echo once, in the first chunk', async () => {
    const { choices } = await streamed({ echo: true });
    const { body } = await completions.complete(request({ echo: true }), providerCall());
    expect(choices.map(({ text }) => text.startsWith(PROMPT))).toEqual(choices.map((_choice, index) => index === 0));
    expect(choices.map(({ text }) => text).join('')).toBe(body.choices[0].text);
  });

  it.each([
    [0, null],
    [2, expect.any(Array)],
  ])(
    'converts log probabilities with %d alternatives to lists, non-streamed and streamed',
    async (logprobs, alternatives) => {
      const whole = await completions.complete(request({ logprobs }), providerCall());
      const [{ text, logprobs: listed }] = whole.body.choices;
      const lists = listed as Record<string, unknown[] | null>;
      expect(lists['tokens']?.join('')).toBe(text);
      expect(lists['text_offset']?.map((start) => text.slice(Number(start))).at(-1)).toBe(lists['tokens']?.at(-1));
      expect(lists['token_logprobs']).toHaveLength(lists['tokens']?.length ?? 0);
      expect(lists['top_logprobs']).toEqual(alternatives);
      const counts = (lists['top_logprobs'] ?? []).map((each) => Object.keys(each as object).length);
      expect(Math.max(0, ...counts)).toBe(logprobs);

      const { choices } = await streamed({ logprobs });
      const offsets = choices.flatMap((choice) => choice.logprobs?.text_offset ?? []);
      expect(offsets).toEqual(lists['text_offset']);
    },
  );

  it('leaves out log probabilities that are not well-formed', async () => {
    const content = [{ token: 'a', logprob: -1, top_logprobs: null }, null, { logprob: -1 }];
    const choice = { message: { content: 'a' }, logprobs: { content }, finish_reason: 'stop' };
    const chat = { complete: async () => ({ body: { id: 'chatcmpl-1', choices: [choice] }, usage: null }) };
    const { body } = await new CompletionsOverChat(chat as unknown as ChatProvider).complete(request(), providerCall());
    expect(body.choices[0].logprobs).toEqual({
      tokens: ['a'],
      token_logprobs: [-1],
      top_logprobs: null,
      text_offset: [0],
    });
  });
});
