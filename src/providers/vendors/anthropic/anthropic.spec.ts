import { type Answer, FakeUpstream } from '../../../../test/conformance/fake-upstream';
import { MemoryVault } from '../../../../test/conformance/memory-vault';
import {
  CollectedEvents,
  events,
  finish,
  message,
  START,
  STOP,
  thinking,
  toolUse,
} from '../../../../test/conformance/message-events';
import { chatRequest, providerCall, providerErrorOf } from '../../../../test/conformance/provider-call';
import type { ChatMessage } from '../../contract/chat';
import type { Provider } from '../../contract/provider';
import { AnthropicProvider } from './anthropic.module';

let upstream: FakeUpstream;
let provider: Provider | null;

beforeEach(async () => {
  upstream = await FakeUpstream.start();
  provider = new AnthropicProvider().create({
    ANTHROPIC_API_KEY: 'sk-ant-secret',
    ANTHROPIC_BASE_URL: `${upstream.origin}/prefix`,
  });
});
afterEach(async () => {
  await provider?.close();
  await upstream.stop();
});

const reply = (document: object, status = 200): Answer => {
  return (response) => response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(document));
};
const refusal = (status: number, type: string, text: string, details?: object): Answer =>
  reply({ type: 'error', error: { type, message: text, details }, request_id: 'req_011' }, status);
const bodies = (): { messages: { role: string; content: unknown }[] }[] =>
  upstream.received.map(({ body }) => JSON.parse(body) as never);

describe('AnthropicProvider', () => {
  it('exists only with a key, and refuses an invalid base URL', () => {
    expect(new AnthropicProvider().create({})).toBeNull();
    expect(() => new AnthropicProvider().create({ ANTHROPIC_API_KEY: 'k', ANTHROPIC_BASE_URL: 'nowhere' })).toThrow(
      'ANTHROPIC_BASE_URL',
    );
  });

  it.each([
    ['2023-06-01', {}, {}],
    ['2023-06-01', { sampling: true }, {}],
    ['2026-10-21', { sampling: false }, {}],
    ['2027-01-01', { sampling: false }, { apiVersion: '2027-01-01' }],
  ])('calls version %s of the API for a model with %j and %j', async (version, features, quirks) => {
    upstream.answer = reply(message());
    await provider?.chat?.complete(chatRequest(), providerCall({ features, quirks }));
    const [received] = upstream.received;
    expect(received?.url).toBe('/prefix/v1/messages');
    expect(received?.headers).toMatchObject({ 'x-api-key': 'sk-ant-secret', 'anthropic-version': version });
    expect(received?.headers).not.toHaveProperty('authorization');
  });

  it.each([
    [400, 'invalid_request_error', 'max_tokens: must be positive', undefined, 'validation_failed', {}],
    [
      400,
      'invalid_request_error',
      'prompt is too long: 300000 tokens',
      undefined,
      'validation_failed',
      { otherModel: true },
    ],
    [413, 'request_too_large', 'Request exceeds the maximum size', undefined, 'validation_failed', {}],
    [
      400,
      'invalid_request_error',
      'Your credit balance is too low to access the API',
      undefined,
      'provider_error',
      { credentialRefused: true },
    ],
    [
      400,
      'invalid_request_error',
      'You have reached your specified API usage limits',
      undefined,
      'provider_error',
      { credentialRefused: true },
    ],
    [400, 'invalid_request_error', 'On hold', 'organization_on_hold', 'provider_error', { credentialRefused: true }],
    [401, 'authentication_error', 'invalid x-api-key', undefined, 'provider_error', { credentialRefused: true }],
    [
      402,
      'billing_error',
      'Pay',
      'linked_organization_spend_limit_reached',
      'provider_error',
      { credentialRefused: true },
    ],
    [403, 'permission_error', 'No', undefined, 'provider_error', { credentialRefused: true }],
    [404, 'not_found_error', 'model: claude-x', undefined, 'provider_error', { fallback: true }],
    [429, 'rate_limit_error', 'Slow down', undefined, 'provider_rate_limited', { retryAfterSeconds: 10 }],
    [429, 'rate_limit_error', 'Slow down', 'ramp_limit_exceeded', 'provider_rate_limited', { fallback: true }],
    [429, 'rate_limit_error', 'Spent', 'enforced_spend_limit_reached', 'provider_error', { credentialRefused: true }],
    [429, 'rate_limit_error', 'Spent', 'contract_spend_limit_reached', 'provider_error', { credentialRefused: true }],
    [500, 'api_error', 'Internal', undefined, 'provider_unavailable', { retrySame: true }],
    [504, 'timeout_error', 'Late', undefined, 'provider_timeout', { fallback: true }],
    [529, 'overloaded_error', 'Overloaded', undefined, 'provider_unavailable', { retrySame: true }],
  ])('maps status %i %s "%s" (%s) to %s', async (status, type, text, errorCode, code, options) => {
    upstream.answer = refusal(
      status,
      type,
      `${text} org-Secret123`,
      errorCode === undefined ? undefined : { error_code: errorCode },
    );
    const failures = [
      provider?.chat?.complete(chatRequest(), providerCall()),
      provider?.chat?.openStream(chatRequest(), providerCall()),
    ];
    for (const failure of failures) {
      const error = await providerErrorOf(failure ?? Promise.resolve());
      expect(error.code).toBe(code);
      expect(error.options).toMatchObject(options);
      expect(JSON.stringify([error.message, error.options.details])).not.toContain('Secret123');
    }
  });

  it('waits for the limit that is used up, where no Retry-After says how long', async () => {
    upstream.answer = (response) =>
      response
        .writeHead(429, {
          'anthropic-ratelimit-tokens-remaining': '500',
          'anthropic-ratelimit-tokens-reset': new Date(Date.now() + 900_000).toISOString(),
          'anthropic-ratelimit-output-tokens-remaining': '0',
          'anthropic-ratelimit-output-tokens-reset': new Date(Date.now() + 29_500).toISOString(),
        })
        .end('{"type":"error","error":{"type":"rate_limit_error","message":"x"}}');
    const error = await providerErrorOf(provider?.chat?.complete(chatRequest(), providerCall()) ?? Promise.resolve());
    expect(error.options.retryAfterSeconds).toBeGreaterThanOrEqual(29);
    expect(error.options.retryAfterSeconds).toBeLessThanOrEqual(30);
  });

  describe('with a reasoning vault', () => {
    const TOOLS = [{ type: 'function', function: { name: 'f' } }];
    const THINKING = { type: 'thinking', thinking: 'Let me see', signature: 'c2ln' } as const;
    const CALL = { type: 'tool_use', id: 'toolu_1', name: 'f', input: { q: 1 }, caller: { type: 'direct' } } as const;
    const user: ChatMessage = { role: 'user', content: 'go' };
    const call = () => providerCall({ openVault: () => vault, features: { thinking: 'default', sampling: false } });
    let vault: MemoryVault;

    beforeEach(() => (vault = new MemoryVault()));

    /** The second request of a tool loop, as a chat client sends it. */
    const next = chatRequest({
      tools: TOOLS,
      messages: [
        user,
        {
          role: 'assistant',
          content: null,
          reasoning_content: 'Let me see',
          tool_calls: [{ id: 'toolu_1', type: 'function', function: { name: 'f', arguments: '{"q":1}' } }],
        },
        { role: 'tool', tool_call_id: 'toolu_1', content: 'ok' },
      ],
    });
    const answerOfSecond = (): unknown => bodies().at(-1)?.messages[1]?.content;

    it.each(['whole', 'streamed'])('returns the signed thinking of a %s answer with the results', async (kind) => {
      const first = chatRequest({ tools: TOOLS, messages: [user] });
      if (kind === 'whole') {
        upstream.answer = reply(message({ content: [THINKING, CALL], stop_reason: 'tool_use' }));
        await provider?.chat?.complete(first, call());
      } else {
        const stream = [START, ...thinking(0, 'c2ln', 'Let me', ' see'), ...toolUse(1, 'toolu_1', 'f', '{"q":', '1}')];
        upstream.answer = (response) =>
          response
            .writeHead(200, { 'content-type': 'text/event-stream' })
            .end(events(...stream, finish('tool_use'), STOP));
        await (await provider?.chat?.openStream(first, call()))?.pipe(new CollectedEvents());
      }
      upstream.answer = reply(message());
      await provider?.chat?.complete(next, call());
      const { caller: _caller, ...toolUseBlock } = CALL;
      expect(answerOfSecond()).toEqual([THINKING, toolUseBlock]);
    });

    it('drops thinking that the upstream refuses, so that the next attempt succeeds', async () => {
      upstream.answer = reply(message({ content: [THINKING, CALL], stop_reason: 'tool_use' }));
      await provider?.chat?.complete(chatRequest({ tools: TOOLS, messages: [user] }), call());
      upstream.answer = refusal(
        400,
        'invalid_request_error',
        'messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation.',
      );
      const error = await providerErrorOf(provider?.chat?.complete(next, call()) ?? Promise.resolve());
      expect([error.code, error.options.retrySame, error.options.details]).toEqual(['provider_error', true, undefined]);
      upstream.answer = reply(message());
      await provider?.chat?.complete(next, call());
      expect(JSON.stringify(answerOfSecond())).not.toContain('thinking');
    });

    it('does not return reasoning that only the client has, which is unsigned', async () => {
      upstream.answer = reply(message());
      await provider?.chat?.complete(next, call());
      expect(JSON.stringify(bodies())).not.toContain('Let me see');
    });
  });
});
