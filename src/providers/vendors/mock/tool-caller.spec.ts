import type { ChatRequest } from '../../contract/chat';
import { ProviderError } from '../../contract/provider-error';
import { readConversation } from './conversation';
import { chooseToolCalls } from './tool-caller';

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
  return chooseToolCalls(request, readConversation(request)).map((call) => ({
    name: call.name,
    arguments: JSON.parse(call.arguments),
  }));
}
const names = (prompt: string, fields?: Partial<ChatRequest>): string[] =>
  choose(prompt, fields).map(({ name }) => name);

describe('chooseToolCalls', () => {
  it('takes arguments from the prompt', () => {
    expect(choose('How is the weather in New York for the next 3 days, in Fahrenheit?')).toEqual([
      { name: 'get_weather', arguments: { city: 'New York', unit: 'fahrenheit', days: 3 } },
    ]);
  });

  it('calls the function whose name or description the prompt mentions', () => {
    expect(names('The stock price of ACME?')).toEqual(['findStockPrices']);
    expect(names('Is the sky clear?')).toEqual(['get_weather']);
  });

  it('calls several functions at once unless parallel calls are switched off', () => {
    const prompt = 'Weather in Oslo and the price of ACME stock';
    expect(names(prompt)).toEqual(['get_weather', 'findStockPrices']);
    expect(names(prompt, { parallel_tool_calls: false })).toEqual(['get_weather']);
  });

  it.each([['auto'], ['required'], [null], [undefined]])(
    'calls the first function for tool_choice %s when none fits',
    (choice) => {
      expect(names('Hello', { tool_choice: choice })).toEqual(['get_weather']);
    },
  );

  it('calls the named function, and only allowed ones', () => {
    const named = { type: 'function', function: { name: 'findStockPrices' } };
    const allowed = { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: [named] } };
    expect(names('Weather in Oslo?', { tool_choice: named })).toEqual(['findStockPrices']);
    expect(names('Weather in Oslo?', { tool_choice: allowed })).toEqual(['findStockPrices']);
  });

  it('calls nothing without tools, with tool_choice none, or after a result', () => {
    const messages = [
      { role: 'user', content: 'Weather in Oslo?' },
      { role: 'assistant', content: null, tool_calls: [] },
      { role: 'tool', tool_call_id: 'a', content: 'rain' },
    ];
    expect(names('Weather?', { tools: undefined })).toEqual([]);
    expect(names('Weather?', { tool_choice: 'none' })).toEqual([]);
    expect(names('', { messages, tool_choice: 'required' })).toEqual([]);
  });

  it.each([
    ['tool_choice', { tool_choice: { type: 'function', function: { name: 'nobody' } } }],
    [
      'tools[0].function.parameters',
      {
        tools: [
          { type: 'function', function: { name: 'a', parameters: { properties: { b: false }, required: ['b'] } } },
        ],
      },
    ],
  ])('refuses what cannot be called, naming %s', (param, fields) => {
    const refused = expect.objectContaining({ code: 'validation_failed', options: expect.objectContaining({ param }) });
    expect(() => choose('Hello', fields)).toThrow(ProviderError);
    expect(() => choose('Hello', fields)).toThrow(refused);
  });
});
