import type { Clock } from '../../../core/time/clock';
import type { ChatProvider, ChatRequest } from '../../contract/chat';
import type { CallDeadlines, ProviderCall } from '../../contract/provider-call';
import { MockProvider } from './mock.module';

const clock: Clock = { now: () => 1_700_000_000_500, monotonic: () => performance.now() };
const NO_HURRY: CallDeadlines = { connectMs: 5_000, firstTokenMs: 5_000, idleMs: 5_000, totalMs: 10_000 };

function callWith(deadlines: Partial<CallDeadlines> = {}, signal = new AbortController().signal): ProviderCall {
  return {
    requestId: 'req_1',
    attempt: 1,
    publicModel: 'mock/chat-1',
    upstreamModel: 'chat-1',
    features: {},
    quirks: {},
    deadlines: { ...NO_HURRY, ...deadlines },
    signal,
  };
}

function chatOf(): ChatProvider {
  const chat = new MockProvider().create({}, clock)?.chat;
  if (chat === undefined) throw new Error('The mock has no chat.');
  return chat;
}

const chat = chatOf();
const ask = (content: string, fields: Partial<ChatRequest> = {}): ChatRequest => ({
  model: 'mock/chat-1',
  messages: [{ role: 'user', content }],
  ...fields,
});
const failure = (code: string, options: object) =>
  expect.objectContaining({ name: 'ProviderError', code, options: expect.objectContaining(options) });

describe('MockProvider', () => {
  it.each(['false', '0'])('is not offered when MOCK_PROVIDER is %s', (setting) => {
    expect(new MockProvider().create({ MOCK_PROVIDER: setting })).toBeNull();
  });

  it.each([undefined, 'true', '1'])('is offered when MOCK_PROVIDER is %s', async (setting) => {
    const provider = new MockProvider().create({ MOCK_PROVIDER: setting });
    expect(provider).toMatchObject({
      id: 'mock',
      capabilities: { chat: true, embeddings: true, images: true, speech: true },
    });
    await expect(provider?.close()).resolves.toBeUndefined();
  });
});

describe('a whole reply', () => {
  it('has the shape that clients require', async () => {
    const { body, usage, outputBytes } = await chat.complete(ask('Say é'), callWith());
    const text = expect.stringContaining('Say é');
    expect(body).toEqual({
      id: expect.stringMatching(/^chatcmpl-/),
      object: 'chat.completion',
      created: 1_700_000_000,
      model: 'mock/chat-1',
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: text, refusal: null },
          logprobs: null,
          finish_reason: 'stop',
        },
      ],
      system_fingerprint: 'fp_mock',
    });
    expect(usage).toMatchObject({ inputText: 2, outputReasoning: 0 });
    const [choice] = body.choices as { message: { content: string } }[];
    expect(outputBytes).toBe(Buffer.byteLength(choice?.message.content ?? ''));
  });

  it('is the same for the same request', async () => {
    const [first, second] = await Promise.all([
      chat.complete(ask('Hi'), callWith()),
      chat.complete(ask('Hi'), callWith()),
    ]);
    expect(first.body.choices).toEqual(second.body.choices);
    expect(first.body.id).not.toBe(second.body.id);
  });

  it('has tool calls without content', async () => {
    const tools = [{ type: 'function', function: { name: 'look_up' } }];
    const { body, outputBytes } = await chat.complete(ask('Hi', { tools, tool_choice: 'required' }), callWith());
    expect(body.choices).toMatchObject([
      {
        message: {
          content: null,
          tool_calls: [
            {
              id: expect.stringMatching(/^call_\w{24}$/),
              type: 'function',
              function: { name: 'look_up', arguments: '{}' },
            },
          ],
        },
        finish_reason: 'tool_calls',
      },
    ]);
    expect(outputBytes).toBe(2);
  });

  it('has the log probabilities of its tokens on request', async () => {
    const fields = { logprobs: true, top_logprobs: 2, max_tokens: 3 };
    const { body } = await chat.complete(ask('Hi', fields), callWith());
    const [choice] = body.choices as {
      logprobs: { content: { token: string; logprob: number; top_logprobs: unknown[] }[] };
    }[];
    expect(choice?.logprobs.content.map(({ token }) => token)).toEqual(['You', ' asked', ' "']);
    for (const { logprob, top_logprobs: top } of choice?.logprobs.content ?? []) {
      expect(logprob).toBeLessThan(0);
      expect(top).toHaveLength(2);
    }
  });
});

describe('a scripted failure of a whole reply', () => {
  it.each([
    ['status=429 retry_after=7', 'provider_rate_limited', { fallback: true, retryAfterSeconds: 7 }],
    ['status=429', 'provider_rate_limited', { fallback: true, retryAfterSeconds: 10 }],
    ['status=429 retry_after=soon', 'provider_rate_limited', { retryAfterSeconds: 10 }],
    ['status=429 retry_after=1000000000', 'provider_rate_limited', { retryAfterSeconds: 3600 }],
    ['status=500', 'provider_unavailable', { fallback: true, retrySame: true }],
    ['status=503 retry_after=3', 'provider_unavailable', { retryAfterSeconds: 3 }],
    ['status=504', 'provider_timeout', { fallback: true }],
    ['status=401', 'provider_error', { fallback: true, credentialRefused: true }],
    ['status=402', 'provider_error', { fallback: true, credentialRefused: true }],
    ['status=404', 'provider_error', { fallback: true }],
    ['status=400', 'validation_failed', { fallback: false }],
    ['reset_after=0', 'provider_unavailable', { fallback: true, phase: 'headers' }],
    ['reset_after=3', 'provider_disconnect', { fallback: true, phase: 'first_token' }],
    ['garbage', 'provider_error', { fallback: true, phase: 'first_token' }],
    ['error_after=2', 'provider_unavailable', { fallback: true, phase: 'first_token' }],
    ['error_after=0 status=429', 'provider_rate_limited', { fallback: true }],
    ['first_token=5ms status=500', 'provider_unavailable', { fallback: true }],
    ['unheard_of', 'validation_failed', { fallback: false, param: 'messages[0].content' }],
  ])('%s gives %s', async (directive, code, options) => {
    await expect(chat.complete(ask(`[[mock: ${directive}]]`), callWith())).rejects.toEqual(failure(code, options));
  });

  it.each(['hang', 'first_token=1s', 'delay=1s'])('exceeds the deadline with %s', async (directive) => {
    const reply = chat.complete(ask(`[[mock: ${directive}]]`), callWith({ firstTokenMs: 500 }));
    await expect(reply).rejects.toEqual(failure('provider_timeout', { fallback: true }));
  });

  it('counts a reply without a finish reason as finished, like any whole reply', async () => {
    const { body } = await chat.complete(ask('[[mock: no_finish no_usage]]'), callWith());
    expect(body.choices).toMatchObject([{ finish_reason: 'stop' }]);
  });

  it('ends a hang at once when the call is aborted', async () => {
    const controller = new AbortController();
    const reply = chat.complete(ask('[[mock: hang]]'), callWith({}, controller.signal));
    controller.abort();
    await expect(reply).rejects.toEqual(failure('provider_disconnect', { fallback: false }));
    await expect(chat.complete(ask('Hi'), callWith({}, controller.signal))).rejects.toEqual(
      failure('provider_disconnect', { fallback: false }),
    );
  });
});

describe('a scripted failure before the first token of a stream', () => {
  it.each([
    ['status=429', 'provider_rate_limited', { fallback: true }],
    ['reset_after=0', 'provider_unavailable', { fallback: true }],
    ['garbage', 'provider_error', { fallback: true }],
    ['error_after=0', 'provider_unavailable', { fallback: true }],
    ['hang', 'provider_timeout', { fallback: true }],
    ['first_token=1s', 'provider_timeout', { fallback: true }],
  ])('%s gives %s', async (directive, code, options) => {
    const stream = chat.openStream(ask(`[[mock: ${directive}]]`), callWith({ firstTokenMs: 500 }));
    await expect(stream).rejects.toEqual(failure(code, options));
  });
});
