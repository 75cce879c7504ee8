import type { ContentBlock, Message } from '@anthropic-ai/sdk/resources/messages';
import { message } from '../../../../test/conformance/message-events';
import { ProviderError } from '../../contract/provider-error';
import { fromMessage } from './from-message';
import { mergeUsage, toMessagesUsage } from './usage';

const caller = { type: 'direct' } as const;
const textBlock = (text: string): ContentBlock => ({ type: 'text', text, citations: null });

function read(reply: unknown): ReturnType<typeof fromMessage> {
  const text = typeof reply === 'string' ? reply : JSON.stringify(reply);
  return fromMessage(Buffer.from(text), { publicModel: 'vendor/public-model' });
}

function choiceOf(fields: Partial<Message>): unknown {
  return read(message(fields)).result.body.choices[0];
}

describe('fromMessage', () => {
  it('converts a message of all kinds of blocks', () => {
    const content: ContentBlock[] = [
      { type: 'thinking', thinking: 'Let me see', signature: 'c2ln' },
      { type: 'redacted_thinking', data: 'b3BhcXVl' },
      textBlock('größe '),
      textBlock('b'),
      { type: 'tool_use', id: 'toolu_1', name: 'look_up', input: { q: 'a' }, caller },
      { type: 'tool_use', id: 'toolu_2', name: 'list', input: {}, caller },
    ];
    const { result, blocks } = read(message({ content, stop_reason: 'tool_use' }));
    expect(result.body).toEqual({
      id: 'chatcmpl-01',
      object: 'chat.completion',
      created: expect.any(Number),
      model: 'vendor/public-model',
      choices: [
        {
          index: 0,
          message: {
            role: 'assistant',
            content: 'größe b',
            refusal: null,
            reasoning_content: 'Let me see',
            tool_calls: [
              { id: 'toolu_1', type: 'function', function: { name: 'look_up', arguments: '{"q":"a"}' } },
              { id: 'toolu_2', type: 'function', function: { name: 'list', arguments: '{}' } },
            ],
          },
          logprobs: null,
          finish_reason: 'tool_calls',
        },
      ],
      system_fingerprint: null,
    });
    expect(result.outputBytes).toBe(Buffer.byteLength('größe bLet me see{"q":"a"}{}'));
    expect(blocks).toHaveLength(6);
  });

  it.each<[Partial<Message>, unknown]>([
    [{ content: [] }, { message: { content: '' }, finish_reason: 'stop' }],
    [
      { content: [{ type: 'tool_use', id: 't', name: 'f', input: {}, caller }], stop_reason: 'tool_use' },
      { message: { content: null }, finish_reason: 'tool_calls' },
    ],
    [{ stop_reason: 'tool_use' }, { finish_reason: 'stop' }],
    [{ stop_reason: 'model_context_window_exceeded' }, { finish_reason: 'length' }],
    [
      { content: [], stop_reason: 'refusal', stop_details: { type: 'refusal', category: 'bio', explanation: 'No.' } },
      { message: { refusal: 'No.' }, finish_reason: 'content_filter' },
    ],
    [{ stop_reason: 'refusal' }, { message: { refusal: null, content: 'Hello' }, finish_reason: 'content_filter' }],
  ])('converts the end of an answer: %j', (fields, expected) => {
    expect(choiceOf(fields)).toMatchObject(expected as object);
  });

  it('counts the text before a refusal as output, and not its explanation, which no model wrote', () => {
    const details = { type: 'refusal', category: 'bio', explanation: 'No.' } as const;
    const bytesOf = (...content: ContentBlock[]): number =>
      read(message({ content, stop_reason: 'refusal', stop_details: details })).result.outputBytes;
    expect([bytesOf(), bytesOf(textBlock('Hello'))]).toEqual([0, 5]);
  });

  it('skips a byte order mark', () => {
    const { result } = read(`\uFEFF${JSON.stringify(message({ content: [textBlock('a')] }))}`);
    expect(result.body.choices[0]).toMatchObject({ message: { content: 'a' } });
  });

  it('keeps all digits of numbers in arguments', () => {
    const reply = JSON.stringify(
      message({ content: [{ type: 'tool_use', id: 't', name: 'f', input: 'INPUT', caller }], stop_reason: 'tool_use' }),
    ).replace('"INPUT"', '{"id":1234567890123456789,"f":1.50}');
    const [choice] = read(reply).result.body.choices as {
      message: { tool_calls: [{ function: { arguments: string } }] };
    }[];
    expect(choice?.message.tool_calls[0].function.arguments).toBe('{"id":1234567890123456789,"f":1.50}');
  });

  it.each([
    ['an error document', { type: 'error', error: { type: 'overloaded_error', message: 'x' } }, 'provider_unavailable'],
    ['an empty reply', '', 'provider_error'],
    ['a reply that was cut off', '{"type":"message","content":[', 'provider_error'],
    ['another document', { object: 'chat.completion', choices: [] }, 'provider_error'],
    ['a list', [], 'provider_error'],
  ])('refuses %s', (_name, reply, code) => {
    const run = (): unknown => read(reply);
    expect(run).toThrow(ProviderError);
    expect(run).toThrow(expect.objectContaining({ code }));
  });
});

describe('toMessagesUsage', () => {
  const NONE = {
    inputText: 0,
    inputCacheRead: 0,
    inputCacheWrite5m: 0,
    inputCacheWrite1h: 0,
    outputText: 0,
    outputReasoning: 0,
  };

  it.each([
    ['no cache', { input_tokens: 3, output_tokens: 2 }, { inputText: 3, outputText: 2 }],
    [
      'all classes, which are disjoint',
      {
        input_tokens: 10,
        cache_read_input_tokens: 20,
        cache_creation_input_tokens: 30,
        cache_creation: { ephemeral_5m_input_tokens: 12, ephemeral_1h_input_tokens: 18 },
        output_tokens: 50,
        output_tokens_details: { thinking_tokens: 40 },
      },
      {
        inputText: 10,
        inputCacheRead: 20,
        inputCacheWrite5m: 12,
        inputCacheWrite1h: 18,
        outputText: 10,
        outputReasoning: 40,
      },
    ],
    [
      'cache writes without a breakdown',
      { input_tokens: 1, output_tokens: 1, cache_creation_input_tokens: 7, cache_creation: null },
      { inputText: 1, outputText: 1, inputCacheWrite5m: 7 },
    ],
    [
      'more cache writes than the breakdown names',
      {
        input_tokens: 1,
        output_tokens: 1,
        cache_creation_input_tokens: 9,
        cache_creation: { ephemeral_5m_input_tokens: 2, ephemeral_1h_input_tokens: 3 },
      },
      { inputText: 1, outputText: 1, inputCacheWrite5m: 6, inputCacheWrite1h: 3 },
    ],
    [
      'more thinking than output',
      { input_tokens: 1, output_tokens: 5, output_tokens_details: { thinking_tokens: 9 } },
      { inputText: 1, outputReasoning: 5 },
    ],
  ])('converts usage with %s', (_name, usage, expected) => {
    expect(toMessagesUsage(usage)).toMatchObject({ ...NONE, ...expected });
  });

  it.each([
    null,
    'x',
    {},
    { input_tokens: 1 },
    { input_tokens: -1, output_tokens: 1 },
    { input_tokens: '1', output_tokens: 1 },
  ])('leaves implausible usage to the estimate: %j', (usage) => {
    expect(toMessagesUsage(usage)).toBeNull();
  });

  it('lets later counts of a stream replace earlier ones', () => {
    const merged = mergeUsage({ input_tokens: 5, output_tokens: 1 }, { input_tokens: null, output_tokens: 9 });
    expect(merged).toEqual({ input_tokens: 5, output_tokens: 9 });
  });
});
