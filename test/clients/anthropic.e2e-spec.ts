/** Claude models through the official client, against an upstream that writes Anthropic's format. */
import OpenAI from 'openai';
import type { ContentBlock, MessageCreateParams } from '@anthropic-ai/sdk/resources/messages';
import { type Answer, FakeUpstream } from '../conformance/fake-upstream';
import { events, finish, message, START, STOP, text, thinking, toolUse } from '../conformance/message-events';
import { TestGateway } from '../harness/gateway';

const MODEL = 'anthropic/claude-sonnet-5-5';
let upstream: FakeUpstream;
let gateway: TestGateway;
let client: OpenAI;

beforeAll(async () => {
  upstream = await FakeUpstream.start();
  gateway = await TestGateway.start({ ANTHROPIC_API_KEY: 'sk-ant-test', ANTHROPIC_BASE_URL: upstream.origin });
  const { key } = await gateway.customer();
  client = new OpenAI({ apiKey: key, baseURL: `${gateway.url}/v1`, maxRetries: 0 });
});
beforeEach(() => (upstream.received.length = 0));
afterAll(async () => {
  await gateway.stop();
  await upstream.stop();
});

const user = { role: 'user', content: 'Hello' } as const;
const TOOL = {
  type: 'function',
  function: { name: 'look_up', parameters: { type: 'object', properties: { q: { type: 'string' } } } },
} as const;
const caller = { type: 'direct' } as const;

const whole = (...content: ContentBlock[]): Answer => {
  const stopReason = content.some(({ type }) => type === 'tool_use') ? 'tool_use' : 'end_turn';
  return (response) => {
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(message({ content, stop_reason: stopReason })));
  };
};
const streamed = (...list: readonly { readonly type: string }[]): Answer => {
  return (response) => response.writeHead(200, { 'content-type': 'text/event-stream' }).end(events(...list));
};
const asked = (): MessageCreateParams => JSON.parse(upstream.received.at(-1)?.body ?? '{}') as MessageCreateParams;

describe('a Claude model', () => {
  it('completes a chat, charged by the classes of its usage', async () => {
    upstream.answer = whole({ type: 'text', text: 'Hi', citations: null });
    const { data, response } = await client.chat.completions
      .create({ model: MODEL, messages: [{ role: 'system', content: 'Be brief.' }, user], max_tokens: 50 })
      .withResponse();
    expect(data).toMatchObject({
      model: MODEL,
      choices: [{ message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 22, completion_tokens: 1, prompt_tokens_details: { cached_tokens: 5 } },
    });
    expect(asked()).toMatchObject({
      model: 'claude-sonnet-5-5',
      max_tokens: 50,
      system: [{ type: 'text', text: 'Be brief.' }],
      thinking: { type: 'adaptive', display: 'summarized' },
    });
    // 10 input at 2, 5 read at 0.1, 3 written for 5 minutes at 2.5, 4 for an hour at 4, 1 output at 10 dollars a
    // million.
    expect(response.headers.get('x-llm-cost-micro')).toBe('54');
    expect(upstream.received[0]?.headers).toMatchObject({
      'x-api-key': 'sk-ant-test',
      'anthropic-version': '2026-10-21',
    });
  });

  it.each([false, true])(
    'charges a refusal by its reported usage, without its explanation; streamed: %s',
    async (stream) => {
      const details = { type: 'refusal', category: 'cyber', explanation: 'The request could enable harm.' } as const;
      const refused = { stop_reason: 'refusal', stop_details: details } as const;
      const usage = { ...message().usage, output_tokens: 0 };
      const start = { type: 'message_start', message: message({ content: [], stop_reason: null, usage }) } as const;
      const end = { type: 'message_delta', delta: { ...refused, stop_sequence: null, container: null }, usage };
      upstream.answer = stream
        ? streamed(start, end, STOP)
        : (response) => {
            response.setHeader('content-type', 'application/json');
            response.end(JSON.stringify(message({ content: [], usage, ...refused })));
          };
      const customer = await gateway.customer();
      const body = { model: MODEL, messages: [user], stream };
      const reply = await gateway.call('/v1/chat/completions', { key: customer.key, body });
      expect(reply.text).toContain('The request could enable harm.');
      expect(reply.text).toContain('"finish_reason":"content_filter"');
      const requests = await gateway.rows(
        'SELECT output_text::int, usage_estimated, charged_micro::int FROM usage_record WHERE organization_id = $1',
        [customer.organizationId],
      );
      // The input and cache of the first test, without its token of output.
      expect(requests).toEqual([{ output_text: 0, usage_estimated: false, charged_micro: 44 }]);
    },
  );

  it('streams reasoning and text, and reports usage at the end', async () => {
    upstream.answer = streamed(START, ...thinking(0, 'c2ln', 'Hm'), ...text(1, 'Hel', 'lo'), finish('end_turn'), STOP);
    const stream = client.chat.completions.stream({ model: MODEL, messages: [user], reasoning_effort: 'high' });
    let reasoning = '';
    stream.on('chunk', ({ choices }) => {
      const { delta = {} } = choices[0] ?? {};
      reasoning += (delta as { reasoning_content?: string }).reasoning_content ?? '';
    });
    const completion = await stream.finalChatCompletion();
    expect([reasoning, completion.choices[0]?.message.content]).toEqual(['Hm', 'Hello']);
    expect(completion.usage).toMatchObject({
      completion_tokens: 9,
      completion_tokens_details: { reasoning_tokens: 4 },
    });
    expect(asked()).toMatchObject({ output_config: { effort: 'high' }, stream: true });
  });

  it('gets its signed thinking back in every step of a tool loop, streamed or not', async () => {
    const messages: OpenAI.ChatCompletionMessageParam[] = [user];
    const create = { model: MODEL, tools: [TOOL], messages };
    upstream.answer = streamed(
      START,
      ...thinking(0, 'c2lnMQ==', 'First'),
      ...toolUse(1, 'toolu_1', 'look_up', '{"q":', '"a"}'),
      ...toolUse(2, 'toolu_2', 'look_up', '{"q":"b"}'),
      finish('tool_use'),
      STOP,
    );
    const first = await client.chat.completions.stream(create).finalChatCompletion();
    const { content, role, tool_calls: calls = [] } = first.choices[0]?.message ?? { content: null, role: 'assistant' };
    messages.push({ role, content, tool_calls: calls as OpenAI.ChatCompletionMessageToolCall[] });
    for (const { id } of calls) messages.push({ role: 'tool', tool_call_id: id, content: `result of ${id}` });

    upstream.answer = whole(
      { type: 'redacted_thinking', data: 'b3BhcXVl' },
      { type: 'text', text: 'One more.', citations: null },
      { type: 'tool_use', id: 'toolu_3', name: 'look_up', input: { q: 'c' }, caller },
    );
    const second = await client.chat.completions.create(create);
    messages.push(second.choices[0]?.message as OpenAI.ChatCompletionMessage);
    messages.push({ role: 'tool', tool_call_id: 'toolu_3', content: 'c' });

    upstream.answer = whole({ type: 'text', text: 'Done', citations: null });
    const third = await client.chat.completions.create(create);
    expect(third.choices[0]?.message.content).toBe('Done');
    expect(asked().messages.slice(1)).toEqual([
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'First', signature: 'c2lnMQ==' },
          { type: 'tool_use', id: 'toolu_1', name: 'look_up', input: { q: 'a' } },
          { type: 'tool_use', id: 'toolu_2', name: 'look_up', input: { q: 'b' } },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'toolu_1', content: 'result of toolu_1' },
          { type: 'tool_result', tool_use_id: 'toolu_2', content: 'result of toolu_2' },
        ],
      },
      {
        role: 'assistant',
        content: [
          { type: 'redacted_thinking', data: 'b3BhcXVl' },
          { type: 'text', text: 'One more.' },
          { type: 'tool_use', id: 'toolu_3', name: 'look_up', input: { q: 'c' } },
        ],
      },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_3', content: 'c' }] },
    ]);
  });

  it('goes on without thinking that the upstream refuses', async () => {
    upstream.answer = whole(
      { type: 'thinking', thinking: 'First', signature: 'c2ln' },
      { type: 'tool_use', id: 'toolu_9', name: 'look_up', input: {}, caller },
    );
    const { choices } = await client.chat.completions.create({ model: MODEL, tools: [TOOL], messages: [user] });
    upstream.answer = (response, { body }) => {
      response.setHeader('content-type', 'application/json');
      if (!body.includes('c2ln')) return void response.end(JSON.stringify(message()));
      const error = {
        type: 'invalid_request_error',
        message: 'messages.1.content.0: Invalid `signature` in `thinking` block.',
      };
      response.writeHead(400).end(JSON.stringify({ type: 'error', error }));
    };
    const answer = choices[0]?.message as OpenAI.ChatCompletionMessage;
    const result = { role: 'tool', tool_call_id: 'toolu_9', content: 'ok' } as const;
    const next = await client.chat.completions.create({
      model: MODEL,
      tools: [TOOL],
      messages: [user, answer, result],
    });
    expect(next.choices[0]?.message.content).toBe('Hello');
    expect(upstream.received).toHaveLength(3);
  });

  it('takes JSON schemas, images and PDF files', async () => {
    upstream.answer = whole({ type: 'text', text: '{"n":1}', citations: null });
    const schema = { type: 'object', properties: { n: { type: 'integer', minimum: 1 } }, required: ['n'] };
    const completion = await client.chat.completions.create({
      model: MODEL,
      messages: [
        {
          role: 'user',
          content: [
            { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } },
            { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0xLjQ=' } },
            { type: 'text', text: 'How many?' },
          ],
        },
      ],
      response_format: { type: 'json_schema', json_schema: { name: 'count', schema } },
    });
    expect(JSON.parse(completion.choices[0]?.message.content ?? '')).toEqual({ n: 1 });
    expect(asked()).toMatchObject({
      messages: [
        {
          content: [
            { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' } },
            { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0xLjQ=' } },
            { type: 'text' },
          ],
        },
      ],
      output_config: { format: { type: 'json_schema', schema: { additionalProperties: false } } },
    });
  });

  it('cites a file that the client wants cited, whole and streamed', async () => {
    const citation = {
      type: 'page_location' as const,
      cited_text: 'The sky is blue.',
      document_index: 0,
      document_title: 'sky.pdf',
      file_id: null,
      start_page_number: 2,
      end_page_number: 3,
    };
    const file = {
      type: 'file',
      file: { filename: 'sky.pdf', file_data: 'JVBERi0xLjQ=' },
      citations: { enabled: true },
    };
    const content = [file as never, { type: 'text' as const, text: 'What colour is the sky?' }];
    const request = { model: MODEL, messages: [{ role: 'user' as const, content }] };
    const cited = {
      start_index: 0,
      end_index: 4,
      url: 'sky.pdf#page=2',
      title: 'sky.pdf',
      content: 'The sky is blue.',
    };
    const annotations = [{ type: 'url_citation', url_citation: cited }];

    upstream.answer = whole({ type: 'text', text: 'Blue', citations: [citation] });
    const { choices } = await client.chat.completions.create(request);
    expect(choices[0]?.message.annotations).toEqual(annotations);
    expect(asked().messages).toMatchObject([{ content: [{ type: 'document', citations: { enabled: true } }, {}] }]);

    const [start, ...rest] = text(0, 'Blue');
    const delta = { type: 'content_block_delta', index: 0, delta: { type: 'citations_delta', citation } };
    upstream.answer = streamed(
      START,
      ...(start === undefined ? [] : [start]),
      delta,
      ...rest,
      finish('end_turn'),
      STOP,
    );
    const chunks: unknown[] = [];
    for await (const chunk of await client.chat.completions.create({ ...request, stream: true })) chunks.push(chunk);
    expect(chunks).toContainEqual(
      expect.objectContaining({ choices: [expect.objectContaining({ delta: { annotations } })] }),
    );
  });

  it('returns a JSON object where the client wants one, without what the model writes around it', async () => {
    upstream.answer = whole({ type: 'text', text: 'Here you are:\n{"a": 1}', citations: null });
    const { choices } = await client.chat.completions.create({
      model: MODEL,
      messages: [user],
      response_format: { type: 'json_object' },
    });
    expect(choices[0]?.message.content).toBe('{"a": 1}');
    upstream.answer = whole({ type: 'text', text: 'I cannot do that.', citations: null });
    const refused = client.chat.completions.create({
      model: MODEL,
      messages: [user],
      response_format: { type: 'json_object' },
    });
    await expect(refused).rejects.toMatchObject({ status: 502, code: 'provider_error' });
  });

  it.each([
    ['logprobs', { logprobs: true }],
    ['tool_choice', { tools: [TOOL], tool_choice: 'required' as const }],
    ['reasoning_effort', { reasoning_effort: 'minimal' as const }],
  ])('refuses %s before anything is sent', async (param, fields) => {
    const refused = client.chat.completions.create({ model: MODEL, messages: [user], ...fields });
    await expect(refused).rejects.toMatchObject({ status: 400, code: 'validation_failed', param });
    expect(upstream.received).toHaveLength(0);
  });
});
