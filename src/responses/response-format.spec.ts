import { schemaValidator } from '../../test/harness/openapi-validator';
import { chatRequest, providerCall } from '../../test/conformance/provider-call';
import type { Candidate } from '../inference/inference.types';
import type { ChatCompletionResult } from '../providers/contract/chat';
import type { ChatEvent } from '../providers/contract/chat-event';
import { NO_USAGE } from '../providers/contract/usage';
import type { ResponseRequestDto } from './dto/response-request.dto';
import { ResponseFormat } from './response-format';

const isResponse = schemaValidator('Response');
const CLOCK = { now: () => 1_700_000_000_900, monotonic: () => 0 };

function render(
  message: object,
  finishReason = 'stop',
  usageEstimated = false,
  body: object = {},
  items?: readonly ChatEvent[],
) {
  const format = new ResponseFormat({ model: 'mock/asked', input: 'hi', ...body }, 'req_0123', CLOCK);
  const result: ChatCompletionResult = {
    body: {
      id: 'chatcmpl-1',
      object: 'chat.completion',
      created: 1,
      model: 'mock/served',
      choices: [{ index: 0, message: { role: 'assistant', ...message }, logprobs: null, finish_reason: finishReason }],
      system_fingerprint: null,
    },
    usage: null,
    outputBytes: 0,
    items,
  };
  const usage = { ...NO_USAGE, inputText: 3, outputText: 4 };
  const { head, tail } = format.render(result, { costMicro: 7n, usage, usageEstimated });
  const response = JSON.parse(`${String(head)}7${tail}`);
  expect([isResponse(response), isResponse.errors]).toEqual([true, null]);
  return response;
}

const call = (id: string) => ({ id, type: 'function', function: { name: 'f', arguments: '{"a":"\\n"}' } });
const text = (value: string) => ({ type: 'output_text', text: value, annotations: [], logprobs: [] });

describe('a non-streamed response', () => {
  it('contains one message, with usage and cost', () => {
    expect(render({ content: 'Hello "you"', refusal: null })).toMatchObject({
      id: 'resp_0123',
      object: 'response',
      created_at: 1_700_000_000,
      completed_at: 1_700_000_000,
      status: 'completed',
      model: 'mock/served',
      output: [
        {
          id: 'msg_0123_0',
          type: 'message',
          role: 'assistant',
          status: 'completed',
          content: [text('Hello "you"')],
        },
      ],
      usage: { input_tokens: 3, output_tokens: 4, total_tokens: 7, x_llm_cost_micro: 7 },
      error: null,
      incomplete_details: null,
    });
  });

  it('flags estimated usage', () => {
    expect(render({ content: 'a' }, 'stop', true).usage.x_llm_usage_estimated).toBe(true);
    expect(render({ content: 'a' }).usage).not.toHaveProperty('x_llm_usage_estimated');
  });

  it('contains an item for every call, after the message if there is one', () => {
    const item = (index: number, id: string) => ({
      id: `fc_0123_${index}`,
      type: 'function_call',
      call_id: id,
      name: 'f',
      arguments: '{"a":"\\n"}',
      status: 'completed',
    });
    const calls = { tool_calls: [call('a'), call('b')] };
    expect(render({ content: null, ...calls }, 'tool_calls').output).toEqual([item(0, 'a'), item(1, 'b')]);
    const { output } = render({ content: 'Let me see.', ...calls }, 'tool_calls');
    expect(output[0].content).toEqual([text('Let me see.')]);
    expect(output.slice(1)).toEqual([item(1, 'a'), item(2, 'b')]);
  });

  it('returns a refusal as a refusal part', () => {
    expect(render({ content: null, refusal: 'No.' }).output[0].content).toEqual([{ type: 'refusal', refusal: 'No.' }]);
    expect(render({ content: 'Hm.', refusal: 'No.' }).output[0].content).toHaveLength(2);
  });

  it('contains an empty message when the model returned nothing', () => {
    const empty = [{ type: 'message', content: [text('')] }];
    expect(render({ content: null, refusal: null }).output).toMatchObject(empty);
    expect(render({ content: null }, 'stop', false, {}, []).output).toMatchObject(empty);
  });

  it('contains the sources of the answer as annotations of its text', () => {
    const url_citation = { start_index: 0, end_index: 5, url: 'https://a.example', title: 'A page' };
    const annotations = [{ type: 'url_citation', url_citation }, { type: 'file', file: { name: 'a.txt' } }, null];
    expect(render({ content: 'Hello', annotations }).output[0].content).toEqual([
      { ...text('Hello'), annotations: [{ type: 'url_citation', ...url_citation }] },
    ]);
  });

  it('contains the output items of an upstream that returns items, in order', () => {
    const items: ChatEvent[] = [
      { type: 'tool_call', index: 0, id: 'a', kind: 'function', name: 'f' },
      { type: 'tool_input', index: 0, text: '{}' },
      { type: 'tool_end', index: 0, complete: true },
      { type: 'message', phase: 'final' },
      { type: 'part', kind: 'text' },
      { type: 'text', text: 'Hello' },
      { type: 'message_end', complete: true },
    ];
    expect(render({ content: 'Hello', tool_calls: [call('a')] }, 'tool_calls', false, {}, items).output).toEqual([
      { id: 'fc_0123_0', type: 'function_call', call_id: 'a', name: 'f', arguments: '{}', status: 'completed' },
      expect.objectContaining({ id: 'msg_0123_1', phase: 'final', content: [text('Hello')] }),
    ]);
  });

  it('is incomplete when truncated, with an incomplete last item', () => {
    expect(render({ content: 'Hel', tool_calls: [call('a')] }, 'length')).toMatchObject({
      status: 'incomplete',
      completed_at: null,
      incomplete_details: { reason: 'max_output_tokens' },
      output: [{ status: 'completed' }, { status: 'incomplete' }],
    });
  });
});

describe('the echoed settings', () => {
  const settingsFor = (body: object) => render({ content: 'a' }, 'stop', false, body);

  it('contain the effective values, and defaults where none were sent', () => {
    const tools = [{ type: 'web_search' }, { type: 'function', name: 'f' }];
    const format = { type: 'json_schema', name: 'a', schema: {} };
    const asked = {
      instructions: 'x',
      temperature: 1,
      tools,
      tool_choice: 'required',
      text: { format, verbosity: 'low' },
    };
    expect(settingsFor({ ...asked, metadata: { a: 'b' }, store: true })).toMatchObject({
      instructions: 'x',
      temperature: 1,
      top_p: 1,
      tools: [{ type: 'function', name: 'f', description: null, parameters: null, strict: null }],
      tool_choice: 'required',
      parallel_tool_calls: true,
      text: { format: { ...format, description: null, strict: false }, verbosity: 'low' },
      metadata: { a: 'b' },
      store: false,
      previous_response_id: null,
    });
  });

  it.each([
    ['no function is left', [{ type: 'web_search' }], 'required'],
    ['the chosen tool is ignored', [{ type: 'function', name: 'f' }], { type: 'web_search' }],
  ])('contain no tool choice when %s', (_case, tools, choice) => {
    expect(settingsFor({ tools, tool_choice: choice }).tool_choice).toBe('auto');
  });
});

describe('a deployment that cannot fetch images', () => {
  const partsWith = (image_url: string) => [{ type: 'input_image', image_url }];

  it.each([
    ['the conversation as sent', 'hi', 'respond'],
    ['images as sent', [{ role: 'user', content: partsWith('data:image/png;base64,AA==') }], 'respond'],
    ['a chat with what was fetched', [{ role: 'user', content: partsWith('https://a.example/b.png') }], 'complete'],
    [
      'a chat with what was fetched for a tool result',
      [{ type: 'function_call_output', call_id: 'c', output: partsWith('https://a.example/b.png') }],
      'complete',
    ],
  ])('gets %s', async (_name, input, method) => {
    const called: string[] = [];
    const adapter = { respond: () => called.push('respond'), complete: () => called.push('complete') };
    const candidate = {
      provider: { responses: adapter, chat: adapter },
      deployment: { dialect: 'openai-responses' },
      quirks: { inputImageUrls: 'inline' },
    } as unknown as Candidate;
    const format = new ResponseFormat({ model: 'v/m', input } as ResponseRequestDto, 'req_1', CLOCK);
    await format.complete(candidate, chatRequest(), providerCall());
    expect(called).toEqual([method]);
  });
});
