/** Tools that take a text instead of JSON, through the chat and responses endpoints. */
import { FakeUpstream } from '../../conformance/fake-upstream';
import { rebuild, type ResponseEvent } from '../../conformance/response-reader';
import { type CallReply, TestGateway, type TestCustomer } from '../../harness/gateway';
import { chunk, createCatalog, event, usageChunk } from '../../harness/upstream-models';

const catalog = createCatalog();
let upstream: FakeUpstream;
let gateway: TestGateway;
let customer: TestCustomer;

beforeAll(async () => {
  upstream = await FakeUpstream.start();
  gateway = await TestGateway.start({
    OPENAI_COMPATIBLE_BASE_URL: `${upstream.origin}/v1`,
    CATALOG_DIR: catalog.path,
  });
  customer = await gateway.customer();
});
afterAll(async () => {
  await gateway.stop();
  await upstream.stop();
  catalog.remove();
});

const call = (path: string, body: object): Promise<CallReply> =>
  gateway.call(path, { key: customer.key, body: { model: 'local/chat', ...body } });
const asked = (): Record<string, unknown> => JSON.parse(upstream.received.at(-1)?.body ?? '{}');

const GRAMMAR = { syntax: 'lark', definition: 'start: "a"' };
const PATCH = '*** Begin Patch\n"quoted"\n*** End Patch';
const CUSTOM = { name: 'apply_patch', description: 'Edits files', format: { type: 'grammar', grammar: GRAMMAR } };
const CALL = { id: 'call_1', type: 'custom', custom: { name: 'apply_patch', input: PATCH } };
const user = { role: 'user', content: 'Fix it' };
const image = 'data:image/png;base64,AA==';

/** The upstream calls the tool, whole or in pieces. */
function callsTool(): void {
  upstream.answer = (response, { body }) => {
    if ((JSON.parse(body) as { stream?: boolean }).stream === true) {
      const [head, tail] = [PATCH.slice(0, 5), PATCH.slice(5)];
      const delta = (fields: object): string => chunk({ tool_calls: [{ index: 0, ...fields }] });
      response.setHeader('content-type', 'text/event-stream');
      response.write(delta({ ...CALL, custom: { name: 'apply_patch', input: '' } }));
      response.write(delta({ custom: { input: head } }) + delta({ custom: { input: tail } }));
      response.end(chunk({}, 'tool_calls') + usageChunk(3, 4) + event('[DONE]'));
      return;
    }
    const message = { role: 'assistant', content: null, tool_calls: [CALL] };
    response.setHeader('content-type', 'application/json');
    const usage = { prompt_tokens: 3, completion_tokens: 4 };
    response.end(JSON.stringify({ choices: [{ index: 0, message, finish_reason: 'tool_calls' }], usage }));
  };
}

describe('chat', () => {
  it.each([
    { type: 'custom', custom: { name: 'apply_patch' } },
    {
      type: 'allowed_tools',
      allowed_tools: { mode: 'required', tools: [{ type: 'custom', custom: { name: 'apply_patch' } }] },
    },
  ])('forwards the tool, its earlier calls and the choice $type unchanged, and returns the call', async (choice) => {
    callsTool();
    const fields = {
      messages: [
        user,
        { role: 'assistant', content: null, tool_calls: [CALL] },
        { role: 'tool', tool_call_id: 'call_1', content: 'Done' },
      ],
      tools: [{ type: 'custom', custom: CUSTOM }],
      tool_choice: choice,
    };
    const { json } = await call('/v1/chat/completions', fields);
    expect(asked()).toMatchObject(fields);
    expect(json.choices[0]).toMatchObject({ message: { tool_calls: [CALL] }, finish_reason: 'tool_calls' });
  });

  it('streams the call', async () => {
    callsTool();
    const tools = [{ type: 'custom', custom: CUSTOM }];
    const { events } = await call('/v1/chat/completions', { messages: [user], tools, stream: true });
    const deltas = events
      .slice(0, -1)
      .flatMap((data) => JSON.parse(data).choices[0]?.delta.tool_calls ?? []) as ResponseEvent[];
    expect(deltas[0]).toEqual({ index: 0, ...CALL, custom: { name: 'apply_patch', input: '' } });
    expect(deltas.map(({ custom }) => custom.input).join('')).toBe(PATCH);
  });

  it.each<[string, object, string]>([
    ['without a name', { tools: [{ type: 'custom', custom: {} }] }, 'tools[0].custom.name'],
    ['of another type', { tools: [{ type: 'browser' }] }, 'tools[0].type'],
    [
      'a call without an input',
      { messages: [user, { role: 'assistant', tool_calls: [{ ...CALL, custom: { name: 'a' } }] }] },
      'messages[1].tool_calls[0].custom.input',
    ],
  ])('refuses a tool %s', async (_case, fields, param) => {
    const { json } = await call('/v1/chat/completions', { messages: [user], ...fields });
    expect([json.error.code, json.error.param]).toEqual(['validation_failed', param]);
  });
});

describe('responses', () => {
  const tools = [
    { type: 'custom', name: 'apply_patch', description: 'Edits files', format: { type: 'grammar', ...GRAMMAR } },
  ];
  const item = { type: 'custom_tool_call', call_id: 'call_1', name: 'apply_patch', input: PATCH };

  it('sends the provider the tool, its earlier calls and their results', async () => {
    callsTool();
    const { json } = await call('/v1/responses', {
      input: [user, item, { type: 'custom_tool_call_output', call_id: 'call_1', output: 'Done' }],
      tools,
      tool_choice: { type: 'custom', name: 'apply_patch' },
    });
    expect(asked()).toMatchObject({
      messages: [
        user,
        { role: 'assistant', content: null, tool_calls: [CALL] },
        { role: 'tool', tool_call_id: 'call_1', content: 'Done' },
      ],
      tools: [{ type: 'custom', custom: CUSTOM }],
      tool_choice: { type: 'custom', custom: { name: 'apply_patch' } },
    });
    expect(json.output).toEqual([{ id: expect.stringMatching(/^ctc_/), ...item, status: 'completed' }]);
    expect(json).toMatchObject({ tools, tool_choice: { type: 'custom', name: 'apply_patch' } });
  });

  it('streams the call', async () => {
    callsTool();
    const { events } = await call('/v1/responses', { input: 'Fix it', tools, stream: true });
    const sent: ResponseEvent[] = events.slice(0, -1).map((data) => JSON.parse(data));
    expect(rebuild(sent)).toMatchObject([{ ...item, status: 'completed' }]);
    expect(sent.filter(({ type }) => type === 'response.custom_tool_call_input.delta')).toHaveLength(2);
  });

  it('sends the images of tool results to the model after all results of the conversation turn', async () => {
    callsTool();
    const call2 = { ...item, call_id: 'call_2' };
    await call('/v1/responses', {
      input: [
        item,
        call2,
        {
          type: 'function_call_output',
          call_id: 'call_1',
          output: [
            { type: 'input_image', image_url: image, detail: 'low' },
            { type: 'input_text', text: 'A screenshot' },
          ],
        },
        { type: 'custom_tool_call_output', call_id: 'call_2', output: [{ type: 'input_image', image_url: image }] },
        user,
      ],
    });
    const messages = asked()['messages'] as { role: string; content: unknown }[];
    expect(messages.map(({ role }) => role)).toEqual(['assistant', 'tool', 'tool', 'user', 'user']);
    expect(messages[1]?.content).toBe('A screenshot');
    expect(messages[3]?.content).toEqual([
      { type: 'text', text: 'Images in the result of tool call call_1:' },
      { type: 'image_url', image_url: { url: image, detail: 'low' } },
      { type: 'text', text: 'Images in the result of tool call call_2:' },
      { type: 'image_url', image_url: { url: image } },
    ]);
  });

  it.each<[string, object, string]>([
    ['a URL that is not https', { type: 'input_image', image_url: 'http://a.example/a.png' }, '.image_url'],
    ['a private address', { type: 'input_image', image_url: 'https://10.0.0.1/a.png' }, '.image_url'],
    ['a part that is neither text nor image', { type: 'input_video' }, '.type'],
  ])('refuses %s in a tool result', async (_case, part, field) => {
    const output = [{ type: 'input_image', image_url: image }, { type: 'input_text', text: 'a' }, part];
    const { json } = await call('/v1/responses', {
      input: [user, item, { type: 'function_call_output', call_id: 'call_1', output }],
    });
    expect([json.error.type, json.error.param]).toEqual(['invalid_request_error', `input[2].output[2]${field}`]);
  });
});
