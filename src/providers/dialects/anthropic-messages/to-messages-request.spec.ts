import { createHash } from 'node:crypto';
import type { MessageCreateParamsNonStreaming } from '@anthropic-ai/sdk/resources/messages';
import { chatRequest, providerCall } from '../../../../test/conformance/provider-call';
import type { ChatMessage, ChatRequest } from '../../contract/chat';
import type { ModelFeatures } from '../../contract/provider-call';
import { ProviderError } from '../../contract/provider-error';
import { toMessagesRequest } from './to-messages-request';

const user = (content: unknown): ChatMessage => ({ role: 'user', content });
const BEGUN = [user('hi'), { role: 'assistant', content: '{' }];
const TOOL = { type: 'function', function: { name: 'look_up', parameters: { type: 'object', properties: {} } } };
const SCHEMA = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] };

function translate(request: Partial<ChatRequest>, features: ModelFeatures = {}, maxOutputTokens = 64_000): object {
  const call = providerCall({ features, maxOutputTokens, upstreamModel: 'claude-test' });
  // The type check is part of the test: bodies have the vendor's own types.
  const body: MessageCreateParamsNonStreaming = toMessagesRequest(chatRequest(request), call).body;
  return body;
}

function refusalOf(request: Partial<ChatRequest>, features?: ModelFeatures): ProviderError {
  try {
    translate(request, features);
  } catch (error) {
    if (error instanceof ProviderError) return error;
  }
  throw new Error('expected a refusal');
}

const REFUSED: readonly [string, Partial<ChatRequest>, ModelFeatures?][] = [
  ['logprobs', { logprobs: true }],
  ['logit_bias', { logit_bias: { 1: 1 } }],
  ['presence_penalty', { presence_penalty: 0.5 }],
  ['audio', { audio: { voice: 'alloy', format: 'mp3' } }],
  ['modalities', { modalities: ['text', 'audio'] }],
  ['functions', { functions: [{ name: 'f' }] }],
  ['verbosity', { verbosity: 'low' }],
  ['service_tier', { service_tier: 'priority' }],
  ['service_tier', { service_tier: 'flex' }],
  ['web_search_options', { web_search_options: {} }],
  ['speed', { speed: 'fast' }],
  ['inference_geo', { inference_geo: 'us' }],
  ['thinking', { thinking: { type: 'disabled' } }],
  ['response_format', { response_format: { type: 'json_object' } }, { json_object: false }],
  ['response_format', { response_format: { type: 'json_object' }, messages: BEGUN }],
  [
    'response_format',
    { response_format: { type: 'json_schema', json_schema: { schema: SCHEMA } } },
    { json_schema: false },
  ],
  ['response_format.json_schema.schema', { response_format: { type: 'json_schema', json_schema: { name: 'a' } } }],
  [
    'response_format.json_schema.schema.properties.a.additionalProperties',
    {
      response_format: {
        type: 'json_schema',
        json_schema: {
          schema: { properties: { a: { type: 'object', additionalProperties: { type: 'string' } } } },
        },
      },
    },
  ],
  ['reasoning_effort', { reasoning_effort: 'none' }, { reasoning: ['low', 'high'] }],
  ['reasoning_effort', { reasoning_effort: 'none' }, { thinking: 'always' }],
  ['reasoning_effort', { reasoning_effort: 'high', max_tokens: 1_024 }, { thinking: 'budget' }],
  ['stop', { stop: ['END', '\n'] }],
  ['tools', { tools: [TOOL] }, { tools: false }],
  ['tools[0]', { tools: [{ type: 'custom', custom: { name: 'x' } }] }],
  ['tool_choice', { tools: [TOOL], tool_choice: 'required' }, { forced_tools: false }],
  ['tool_choice', { tools: [TOOL], tool_choice: { type: 'custom', custom: { name: 'x' } } }],
  ['tool_choice', { tool_choice: 'required' }],
  ['messages', { messages: [{ role: 'user', content: ' ' }] }],
  ['messages[0]', { messages: [{ role: 'function', name: 'f', content: '' }] }],
  ['messages[0].content[1]', { messages: [user(['a', { type: 'input_audio', input_audio: {} }])] }],
  [
    'messages[0].content[0]',
    { messages: [user([{ type: 'image_url', image_url: { url: 'https://a.example/a' } }])] },
    { vision: false },
  ],
  [
    'messages[0].content[0].image_url.url',
    { messages: [user([{ type: 'image_url', image_url: { url: 'data:image/svg+xml;base64,AA' } }])] },
  ],
  [
    'messages[0].content[0].citations',
    { messages: [user([{ type: 'file', file: { file_data: 'JVBERi0xLjQ=' }, citations: [] }])] },
  ],
  [
    'messages[0].content[0].file.file_data',
    { messages: [user([{ type: 'file', file: { file_data: 'data:application/zip;base64,AA' } }])] },
  ],
  ['messages[1]', { messages: BEGUN }, { prefill: false }],
  ['messages[1]', { messages: BEGUN, reasoning_effort: 'low' }, { thinking: 'budget' }],
  ['messages[1].function_call', { messages: [user('hi'), { role: 'assistant', function_call: { name: 'f' } }] }],
  ['messages[1].audio', { messages: [user('hi'), { role: 'assistant', audio: { id: 'audio_1' } }] }],
];

describe('toMessagesRequest', () => {
  it('asks for citations of a file where the client does', () => {
    const file = { type: 'file', file: { file_data: 'JVBERi0xLjQ=', filename: 'a.pdf' } };
    const ask = (citations: unknown) => translate({ messages: [user([{ ...file, citations }])] });
    const document = {
      type: 'document',
      source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0xLjQ=' },
      title: 'a.pdf',
    };
    const cited = { ...document, citations: { enabled: true } };
    expect(ask({ enabled: true })).toMatchObject({ messages: [{ content: [cited] }] });
    for (const off of [null, undefined, { enabled: false }]) {
      expect(ask(off)).toEqual(expect.objectContaining({ messages: [{ role: 'user', content: [document] }] }));
    }
  });

  it('translates a conversation with instructions, images, files and tools', () => {
    const golden: MessageCreateParamsNonStreaming = {
      model: 'claude-test',
      max_tokens: 1_000,
      system: [
        { type: 'text', text: 'Be brief.' },
        { type: 'text', text: 'Long rules', cache_control: { type: 'ephemeral', ttl: '1h' } },
      ],
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'What is this?' },
            { type: 'image', source: { type: 'url', url: 'https://images.example/a.png' } },
            { type: 'image', source: { type: 'base64', media_type: 'image/jpeg', data: 'AAAA' } },
            {
              type: 'document',
              source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0xLjQ=' },
              title: 'a.pdf',
              cache_control: { type: 'ephemeral' },
            },
            { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'größe' } },
          ],
        },
        {
          role: 'assistant',
          content: [
            { type: 'text', text: 'Let me look.' },
            { type: 'tool_use', id: 'call_1', name: 'look_up', input: { q: 'a' } },
            { type: 'tool_use', id: 'call_2', name: 'look_up', input: {} },
          ],
        },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 'call_1', content: 'one' },
            { type: 'tool_result', tool_use_id: 'call_2' },
            { type: 'text', text: 'And now?' },
          ],
        },
      ],
      tools: [
        {
          name: 'look_up',
          description: 'Finds things',
          input_schema: { type: 'object', properties: { q: { type: 'string', minLength: 2 } } },
        },
        {
          name: 'set',
          strict: true,
          input_schema: {
            type: 'object',
            properties: { q: { type: 'string', description: '{minLength: 2}' } },
            additionalProperties: false,
          },
          cache_control: { type: 'ephemeral' },
        },
      ],
      tool_choice: { type: 'auto', disable_parallel_tool_use: true },
      stop_sequences: ['END'],
      metadata: { user_id: createHash('sha256').update('ada').digest('hex') },
    };
    const request: Partial<ChatRequest> = {
      messages: [
        { role: 'system', content: 'Be brief.' },
        {
          role: 'developer',
          content: [{ type: 'text', text: 'Long rules', cache_control: { type: 'ephemeral', ttl: '1h' } }],
        },
        user([
          { type: 'text', text: 'What is this?' },
          { type: 'image_url', image_url: { url: 'https://images.example/a.png', detail: 'low' } },
          { type: 'image_url', image_url: { url: 'data:image/jpg;base64,AAAA' } },
          {
            type: 'file',
            file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0x\nLjQ=' },
            cache_control: { type: 'ephemeral' },
          },
          { type: 'file', file: { file_data: `data:text/plain;base64,${Buffer.from('größe').toString('base64')}` } },
          { type: 'text', text: '  ' },
        ]),
        {
          role: 'assistant',
          content: 'Let me look.',
          reasoning_content: 'unsigned',
          tool_calls: [
            { id: 'call_1', type: 'function', function: { name: 'look_up', arguments: '{"q":"a"}' } },
            { id: 'call_2', type: 'function', function: { name: 'look_up', arguments: '' } },
          ],
        },
        { role: 'tool', tool_call_id: 'call_1', content: 'one' },
        { role: 'tool', tool_call_id: 'call_2', content: '' },
        user('And now?'),
      ],
      max_tokens: 2_000,
      max_completion_tokens: 1_000,
      stop: 'END',
      user: 'ada',
      seed: 1,
      a_field_of_tomorrow: { any: 'thing' },
      routing: {},
      logprobs: false,
      presence_penalty: 0,
      parallel_tool_calls: false,
      tools: [
        {
          type: 'function',
          function: {
            name: 'look_up',
            description: 'Finds things',
            parameters: { type: 'object', properties: { q: { type: 'string', minLength: 2 } } },
          },
        },
        {
          type: 'function',
          function: { name: 'set', strict: true, parameters: { properties: { q: { type: 'string', minLength: 2 } } } },
          cache_control: { type: 'ephemeral' },
        },
      ],
    };
    expect(translate(request)).toEqual(golden);
  });

  it.each<[string, Partial<ChatRequest>, number]>([
    ['the limit of the model', {}, 64_000],
    ['max_tokens', { max_tokens: 10 }, 10],
    ['the smaller of both limits', { max_tokens: 10, max_completion_tokens: 9 }, 9],
    ['no more than the model can write', { max_tokens: 1_000_000 }, 64_000],
  ])('limits the output to %s', (_name, request, limit) => {
    expect(translate(request)).toMatchObject({ max_tokens: limit });
  });

  it('limits the output of a model without a known limit', () => {
    const { body } = toMessagesRequest(chatRequest(), providerCall());
    expect(body.max_tokens).toBe(8_192);
  });

  describe('sampling parameters', () => {
    const asked = { temperature: 0.5, top_p: 0.9, top_k: 5 };

    it('are left out for models without sampling, and while the model reasons', () => {
      const features: ModelFeatures = { thinking: 'optional' };
      for (const body of [
        translate(asked, { sampling: false }),
        translate({ ...asked, reasoning_effort: 'low' }, features),
      ]) {
        expect(body).not.toHaveProperty('temperature');
        expect(body).not.toHaveProperty('top_p');
        expect(body).not.toHaveProperty('top_k');
      }
    });

    it('are one of temperature and top_p, since the upstream refuses both', () => {
      expect(translate(asked)).toMatchObject({ temperature: 0.5, top_k: 5 });
      expect(translate({ temperature: 1.5 })).toMatchObject({ temperature: 1 });
      expect(translate(asked)).not.toHaveProperty('top_p');
      expect(translate({ top_p: 0.9 })).toMatchObject({ top_p: 0.9 });
    });
  });

  describe('reasoning_effort', () => {
    const SUMMARIZED = { type: 'adaptive', display: 'summarized' };

    it.each<[ModelFeatures['thinking'], string | undefined, unknown, unknown]>([
      ['always', undefined, SUMMARIZED, undefined],
      ['always', 'max', SUMMARIZED, { effort: 'max' }],
      ['default', undefined, SUMMARIZED, undefined],
      ['default', 'none', { type: 'disabled' }, undefined],
      ['between_tools', 'none', { type: 'between_tools' }, undefined],
      ['between_tools', 'high', SUMMARIZED, { effort: 'high' }],
      ['optional', undefined, undefined, undefined],
      ['optional', 'minimal', SUMMARIZED, { effort: 'low' }],
      ['optional', 'none', { type: 'disabled' }, undefined],
      ['budget', undefined, undefined, undefined],
      ['budget', 'none', { type: 'disabled' }, undefined],
      ['budget', 'medium', { type: 'enabled', budget_tokens: 4_096 }, undefined],
      ['budget', 'high', { type: 'enabled', budget_tokens: 16_384 }, undefined],
      [undefined, 'medium', SUMMARIZED, { effort: 'medium' }],
    ])('becomes thinking for models that think %s: %s', (thinking, effort, expected, config) => {
      const body = translate({ reasoning_effort: effort }, { thinking }) as MessageCreateParamsNonStreaming;
      expect([body.thinking, body.output_config]).toEqual([expected, config]);
    });

    it('leaves at least half of the limit to the answer of a model with a budget', () => {
      const request = { reasoning_effort: 'high', max_tokens: 4_000 };
      expect(translate(request, { thinking: 'budget' })).toMatchObject({ thinking: { budget_tokens: 2_000 } });
    });

    it('is ignored for a forced tool call, which excludes thinking', () => {
      const request = { reasoning_effort: 'max', tools: [TOOL], tool_choice: 'required' };
      expect(translate(request, { thinking: 'default' })).toMatchObject({ thinking: { type: 'disabled' } });
      for (const thinking of ['always', 'optional', 'budget'] as const) {
        const body = translate(request, { thinking });
        expect(body).not.toHaveProperty('thinking');
        expect(body).not.toHaveProperty('output_config');
      }
    });
  });

  it.each<[unknown, unknown, string[]]>([
    ['auto', { type: 'auto' }, ['look_up', 'set']],
    ['none', { type: 'none' }, ['look_up', 'set']],
    ['required', { type: 'any' }, ['look_up', 'set']],
    [{ type: 'function', function: { name: 'set' } }, { type: 'tool', name: 'set' }, ['look_up', 'set']],
    [
      {
        type: 'allowed_tools',
        allowed_tools: { mode: 'required', tools: [{ type: 'function', function: { name: 'set' } }] },
      },
      { type: 'any' },
      ['set'],
    ],
  ])('translates tool_choice %j', (choice, expected, offered) => {
    const tools = [TOOL, { type: 'function', function: { name: 'set' } }];
    const body = translate({ tools, tool_choice: choice }) as MessageCreateParamsNonStreaming;
    expect(body.tool_choice).toEqual(expected);
    expect(body.tools?.map((tool) => ('name' in tool ? tool.name : ''))).toEqual(offered);
  });

  it.each([
    [{ type: 'object' }, 'An order'],
    [{ type: 'object', description: 'The schema’s own' }, 'The schema’s own'],
  ])('puts the description of a format into its schema %j', (schema, description) => {
    const named = { name: 'order', description: 'An order', schema };
    expect(translate({ response_format: { type: 'json_schema', json_schema: named } })).toMatchObject({
      output_config: { format: { schema: { type: 'object', description } } },
    });
  });

  it('requests JSON by its schema, with the keywords that decoding understands', () => {
    const schema = {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      description: 'An order',
      minProperties: 1,
      properties: {
        when: { type: 'string', format: 'date' },
        mail: { type: 'string', format: 'idn-email' },
        kind: { enum: ['a', 'b'] },
        items: { type: 'array', minItems: 3, items: { oneOf: [{ type: 'integer', minimum: 1 }, { type: 'null' }] } },
        next: { $ref: '#/$defs/next', description: 'lost' },
      },
      required: ['when'],
      $defs: { next: { type: 'object', properties: {}, additionalProperties: true } },
    };
    expect(
      translate({ response_format: { type: 'json_schema', json_schema: { name: 'order', strict: true, schema } } }),
    ).toMatchObject({
      output_config: {
        format: {
          type: 'json_schema',
          schema: {
            type: 'object',
            description: 'An order\n\n{minProperties: 1}',
            properties: {
              when: { type: 'string', format: 'date' },
              mail: { type: 'string', description: '{format: "idn-email"}' },
              kind: { enum: ['a', 'b'] },
              items: {
                type: 'array',
                description: '{minItems: 3}',
                items: { anyOf: [{ type: 'integer', description: '{minimum: 1}' }, { type: 'null' }] },
              },
              next: { $ref: '#/$defs/next' },
            },
            required: ['when'],
            additionalProperties: false,
            $defs: { next: { type: 'object', properties: {}, additionalProperties: false } },
          },
        },
      },
    });
  });

  it.each(REFUSED.map(([param, request, features = {}]) => [param, request, features] as const))(
    'refuses %s rather than dropping it',
    (param, request, features) => {
      const { code, options } = refusalOf(request, features);
      expect([code, options.phase, options.param]).toEqual(['validation_failed', 'connect', param]);
    },
  );
});
