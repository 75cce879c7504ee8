import type { ChatRequest } from '../../contract/chat';
import { ProviderError } from '../../contract/provider-error';
import { readConversation } from './conversation';
import { chooseToolCalls } from './mock-chat';

const weather = {
  type: 'function',
  function: {
    name: 'get_weather',
    description: 'Temperature and sky',
    parameters: {
      type: 'object',
      properties: {
        city: { type: 'string' },
        unit: { type: 'string', enum: ['celsius', 'fahrenheit'] },
        days: { type: 'integer', minimum: 1, maximum: 10 },
      },
      required: ['city'],
    },
  },
};
const stocks = {
  type: 'function',
  function: { name: 'findStockPrices', description: 'Quotes of shares', parameters: null },
};

function choose(prompt: string, fields: Partial<ChatRequest> = {}): { name: string; arguments: unknown }[] {
  const request: ChatRequest = {
    model: 'mock/chat-1',
    messages: [{ role: 'user', content: prompt }],
    tools: [weather, stocks],
    ...fields,
  };
  return chooseToolCalls(request, readConversation(request, prompt)).map((call) => ({
    name: call.name,
    arguments: JSON.parse(call.input),
  }));
}
const names = (prompt: string, fields?: Partial<ChatRequest>): string[] =>
  choose(prompt, fields).map(({ name }) => name);

describe('chooseToolCalls', () => {
  it('fills arguments from the prompt', () => {
    expect(choose('How is the weather in New York for the next 3 days, in Fahrenheit?')).toEqual([
      { name: 'get_weather', arguments: { city: 'New York', unit: 'fahrenheit', days: 3 } },
    ]);
  });

  it('calls the function that the prompt names', () => {
    expect(names('The stock price of ACME?')).toEqual(['findStockPrices']);
    expect(names('Call get_weather, please')).toEqual(['get_weather']);
  });

  const agentTools = ['write', 'edit', 'bash', 'write_file', 'apply_patch', 'list'].map((name) => ({
    type: 'function',
    function: { name, description: 'Writes, edits and lists files', parameters: { type: 'object' } },
  }));

  it.each(['Hello', 'Is the sky clear?', 'Write a haiku', 'Explain this file', 'Edit my letter and list its faults'])(
    'calls nothing when the prompt names no tool: %s',
    (prompt) => {
      expect(names(prompt, { tools: [weather, ...agentTools] })).toEqual([]);
    },
  );

  it.each([
    ['Write the file hello.txt', 'write_file'],
    ['Use the edit tool', 'edit'],
    ['Call `list` now', 'list'],
  ])('calls a tool of an agent only by its whole name: %s', (prompt, name) => {
    expect(names(prompt, { tools: agentTools })).toEqual([name]);
  });

  it('writes the prompt as the input of a custom tool', () => {
    const tools = [{ type: 'custom', custom: { name: 'apply_patch' } }];
    const call = (prompt: string, fields: Partial<ChatRequest> = {}) => {
      const request = { model: 'mock/chat-1', messages: [{ role: 'user', content: prompt }], tools, ...fields };
      return chooseToolCalls(request, readConversation(request, prompt));
    };
    const input = 'Call apply_patch';
    expect(call(input)).toEqual([{ id: expect.any(String), kind: 'custom', name: 'apply_patch', input }]);
    expect(call('Hello', { tool_choice: { type: 'custom', custom: { name: 'apply_patch' } } })).toHaveLength(1);
  });

  it('calls several functions at once unless parallel calls are disabled', () => {
    const prompt = 'Weather in Oslo and the price of ACME stock';
    expect(names(prompt)).toEqual(['get_weather', 'findStockPrices']);
    expect(names(prompt, { parallel_tool_calls: false })).toEqual(['get_weather']);
  });

  it('calls the first function when a call is required and none is named', () => {
    expect(names('Hello', { tool_choice: 'required' })).toEqual(['get_weather']);
    for (const choice of ['auto', null, undefined]) expect(names('Hello', { tool_choice: choice })).toEqual([]);
  });

  it('calls the named function, and only allowed ones', () => {
    const named = { type: 'function', function: { name: 'findStockPrices' } };
    const allowed = { type: 'allowed_tools', allowed_tools: { mode: 'required', tools: [named] } };
    const optional = { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: [named] } };
    expect(names('Weather in Oslo?', { tool_choice: named })).toEqual(['findStockPrices']);
    expect(names('Weather in Oslo?', { tool_choice: allowed })).toEqual(['findStockPrices']);
    expect(names('Weather in Oslo?', { tool_choice: optional })).toEqual([]);
  });

  const afterCallOf = (...called: readonly string[]) => [
    { role: 'user', content: 'Weather in Oslo?' },
    ...called.flatMap((name) => [
      { role: 'assistant', content: null, tool_calls: [{ id: name, type: 'function', function: { name } }] },
      { role: 'tool', tool_call_id: name, content: 'rain' },
    ]),
  ];

  it('calls nothing without tools, with tool_choice none, or after a result', () => {
    const messages = afterCallOf('get_weather');
    expect(names('Weather?', { tools: undefined })).toEqual([]);
    expect(names('Weather?', { tool_choice: 'none' })).toEqual([]);
    expect(names('Weather in Oslo?', { messages })).toEqual([]);
  });

  it('calls the next function after a result when a call is required, until each has been called', () => {
    const required = { tool_choice: 'required' };
    const prompt = 'Weather in Oslo?';
    const messages = afterCallOf('get_weather');
    expect(names(prompt, { messages, ...required })).toEqual(['findStockPrices']);
    expect(names(prompt, { messages, tool_choice: { type: 'function', function: { name: 'get_weather' } } })).toEqual(
      [],
    );
    expect(names(prompt, { messages: afterCallOf('get_weather', 'findStockPrices'), ...required })).toEqual([]);
    expect(names(prompt, { messages: [...messages, { role: 'user', content: prompt }], ...required })).toEqual([
      'get_weather',
    ]);
  });

  it.each([
    ['tool_choice', { tool_choice: { type: 'function', function: { name: 'unknown' } } }],
    [
      'tools[0].function.parameters',
      {
        tools: [
          { type: 'function', function: { name: 'a', parameters: { properties: { b: false }, required: ['b'] } } },
        ],
      },
    ],
  ])('refuses invalid tools or choices, naming %s', (param, fields) => {
    const refused = expect.objectContaining({ code: 'validation_failed', options: expect.objectContaining({ param }) });
    const forced = { tool_choice: 'required', ...fields };
    expect(() => choose('Hello', forced)).toThrow(ProviderError);
    expect(() => choose('Hello', forced)).toThrow(refused);
  });
});
