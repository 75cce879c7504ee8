import { providerCall } from '../../../../test/conformance/provider-call';
import { ProviderError } from '../../contract/provider-error';
import { fromOpenAiChatReply } from './chat-reply';

const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };

function reply(
  overrides: Record<string, unknown> = {},
  message: Record<string, unknown> = {},
  finishReason = 'stop',
): Buffer {
  return Buffer.from(
    JSON.stringify({
      id: 'chatcmpl-1',
      object: 'chat.completion',
      created: 1700000000,
      model: 'upstream-model-2026',
      choices: [{ index: 0, message: { role: 'assistant', content: 'Hé', ...message }, finish_reason: finishReason }],
      usage,
      ...overrides,
    }),
  );
}

function codeOf(body: string | Buffer): string {
  try {
    fromOpenAiChatReply(Buffer.from(body), providerCall());
  } catch (error) {
    if (error instanceof ProviderError) return error.code;
    throw error;
  }
  return 'accepted';
}

describe('fromOpenAiChatReply', () => {
  it('returns the shape that strict clients require, with the public model and without usage', () => {
    const { body, usage: vector, outputBytes } = fromOpenAiChatReply(reply(), providerCall());
    expect(body).toEqual({
      id: 'chatcmpl-1',
      object: 'chat.completion',
      created: 1700000000,
      model: 'vendor/public-model',
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: 'Hé', refusal: null },
          logprobs: null,
          finish_reason: 'stop',
        },
      ],
      system_fingerprint: null,
    });
    expect(vector).toMatchObject({ inputText: 3, outputText: 2 });
    expect(outputBytes).toBe(3);
  });

  it('drops the fields that an upstream adds about itself', () => {
    const extra = { provider: 'Internal', x_groq: { id: 'req' }, prompt_filter_results: [], kv_transfer_params: {} };
    const { body } = fromOpenAiChatReply(
      reply({ ...extra, system_fingerprint: 'fp', service_tier: 'default' }),
      providerCall(),
    );
    const allowed = ['choices', 'created', 'id', 'model', 'object', 'service_tier', 'system_fingerprint'];
    expect(Object.keys(body).toSorted()).toEqual(allowed);
  });

  it('fills in the fields that the upstream omits', () => {
    const { body } = fromOpenAiChatReply(reply({ id: '', created: null, usage: undefined }), providerCall());
    expect(body.id).toMatch(/^chatcmpl-.{20}/);
    expect(Number.isInteger(body.created)).toBe(true);
  });

  it('finds usage where Groq puts it', () => {
    const body = reply({ usage: undefined, x_groq: { usage } });
    expect(fromOpenAiChatReply(body, providerCall()).usage).toMatchObject({ inputText: 3 });
  });

  it('reports no usage when it is implausible', () => {
    const body = reply({ usage: { prompt_tokens: -3, completion_tokens: 2 } });
    expect(fromOpenAiChatReply(body, providerCall()).usage).toBeNull();
  });

  it('normalizes tool calls and corrects the finish reason', () => {
    const toolCalls = [
      { index: 0, id: '', function: { name: 'f', arguments: { a: 'é' } } },
      { id: 'call_2', type: 'function', function: { name: 'g', arguments: null }, extra_content: { k: 1 } },
    ];
    const { body, outputBytes } = fromOpenAiChatReply(
      reply({}, { content: null, tool_calls: toolCalls }),
      providerCall(),
    );
    expect(body.choices).toEqual([
      {
        index: 0,
        message: {
          role: 'assistant',
          content: null,
          refusal: null,
          tool_calls: [
            {
              id: expect.stringMatching(/^call_.{24}$/),
              type: 'function',
              function: { name: 'f', arguments: '{"a":"é"}' },
            },
            { id: 'call_2', type: 'function', function: { name: 'g', arguments: '' }, extra_content: { k: 1 } },
          ],
        },
        logprobs: null,
        finish_reason: 'tool_calls',
      },
    ]);
    expect(outputBytes).toBe(Buffer.byteLength('{"a":"é"}'));
    const trusted = providerCall({ quirks: { trustFinishReason: true } });
    const { body: believed } = fromOpenAiChatReply(reply({}, { tool_calls: toolCalls }), trusted);
    expect(believed.choices).toMatchObject([{ finish_reason: 'stop' }]);
  });

  it('renames reasoning, counts it, and joins parts of text', () => {
    const content = [{ type: 'thinking' }, { type: 'text', text: 'a' }, { type: 'text', text: 'b' }];
    const { body, outputBytes } = fromOpenAiChatReply(reply({}, { content, reasoning: 'why' }), providerCall());
    expect(body.choices).toMatchObject([{ message: { content: 'ab', reasoning_content: 'why' } }]);
    expect(JSON.stringify(body)).not.toContain('"reasoning"');
    expect(outputBytes).toBe(5);
  });

  it.each([
    ['eos', 'stop'],
    ['end_turn', 'stop'],
    ['stop_sequence', 'stop'],
    ['model_length', 'length'],
    ['max_tokens', 'length'],
    ['content_filter', 'content_filter'],
    ['sensitive', 'content_filter'],
    ['model_context_window_exceeded', 'length'],
    ['something_new', 'stop'],
  ])('translates the finish reason %s', (upstream, expected) => {
    expect(fromOpenAiChatReply(reply({}, {}, upstream), providerCall()).body.choices).toMatchObject([
      { finish_reason: expected },
    ]);
  });

  it.each([
    ['HTML', '<html>', 'provider_error'],
    ['nothing', '', 'provider_error'],
    ['an array', '[]', 'provider_error'],
    ['no choices', reply({ choices: [] }), 'provider_error'],
    ['a choice without a message', reply({ choices: [{}] }), 'provider_error'],
    ['a failed generation', reply({}, {}, 'error'), 'provider_error'],
    ['an error in disguise', '{"error":{"message":"slow down","code":429}}', 'provider_rate_limited'],
    ['an error as text', '{"error":"broken"}', 'provider_error'],
  ])('refuses %s', (_name, body, code) => {
    expect(codeOf(body)).toBe(code);
  });

  it('separates reasoning from text in a list of parts', () => {
    const content = [
      {
        type: 'thinking',
        thinking: [
          { type: 'text', text: 'Hm' },
          { type: 'text', text: '.' },
        ],
        closed: true,
      },
      { type: 'text', text: 'Hé' },
    ];
    const { body, outputBytes } = fromOpenAiChatReply(reply({}, { content }), providerCall());
    expect(body.choices).toMatchObject([{ message: { content: 'Hé', reasoning_content: 'Hm.' } }]);
    expect(outputBytes).toBe(6);
  });

  const pages = [{ title: 'A page', url: 'https://a.example', date: '2026-01-01' }];
  it.each([
    ['pages', { search_results: pages, citations: ['https://a.example'] }, 'A page'],
    ['addresses', { citations: ['https://a.example'] }, 'https://a.example'],
  ])('converts %s that an upstream lists as sources to annotations', (_name, sources, title) => {
    const { body } = fromOpenAiChatReply(reply(sources), providerCall({ quirks: { citations: true } }));
    const citation = { start_index: 0, end_index: 0, url: 'https://a.example', title };
    expect(body.choices).toMatchObject([
      { message: { annotations: [{ type: 'url_citation', url_citation: citation }] } },
    ]);
    expect(JSON.stringify(fromOpenAiChatReply(reply(sources), providerCall()).body)).not.toContain('a.example');
  });
});
