import type { ChatRequest } from '../../contract/chat';
import { readConversation } from './conversation';
import { planReply, type ReplyPlan } from './reply-plan';

function plan(prompt: string, fields: Partial<ChatRequest> = {}): ReplyPlan {
  const request: ChatRequest = { model: 'mock/chat-1', messages: [{ role: 'user', content: prompt }], ...fields };
  return planReply(request, readConversation(request));
}
const text = ({ content }: ReplyPlan): string => content?.join('') ?? '';
const tools = [
  {
    type: 'function',
    function: { name: 'look_up', parameters: { type: 'object', properties: { query: { type: 'string' } } } },
  },
];

describe('planReply', () => {
  it('counts the tokens it writes', () => {
    const { content, usage, finishReason } = plan('Hello');
    expect(finishReason).toBe('stop');
    expect(usage).toMatchObject({ inputText: 2, outputText: content?.length });
  });

  it.each(['max_tokens', 'max_completion_tokens'])('ends at %s', (field) => {
    const { content, usage, finishReason } = plan('Hello', { [field]: 5 });
    expect(finishReason).toBe('length');
    expect(content).toHaveLength(5);
    expect(usage?.outputText).toBe(5);
  });

  it('applies the smaller of two limits, and ignores limits that are not reached', () => {
    expect(plan('Hello', { max_tokens: 9, max_completion_tokens: 4 }).content).toHaveLength(4);
    expect(plan('Hello', { max_tokens: 5000 }).finishReason).toBe('stop');
  });

  it.each([['mock'], [['zebra', 'mock', 'model']]])('ends before the first of the stop sequences %j', (stop) => {
    const cut = plan('Hello', { stop });
    expect(text(cut)).toBe('You asked "Hello", and this is the ');
    expect(cut.finishReason).toBe('stop');
    expect(cut.usage?.outputText).toBe(cut.content?.length);
  });

  it('ends tool arguments at the limit', () => {
    const whole = plan('Hello', { tools, tool_choice: 'required' });
    const cut = plan('Hello', { tools, tool_choice: 'required', max_tokens: 3 });
    expect(whole.finishReason).toBe('tool_calls');
    expect(whole.toolCalls[0]?.arguments.join('')).toBe('{"query":"Hello"}');
    expect(cut.finishReason).toBe('length');
    expect(cut.toolCalls[0]?.arguments).toEqual(whole.toolCalls[0]?.arguments.slice(0, 3));
  });

  it('answers in JSON on request', () => {
    const schema = { type: 'object', properties: { rating: { type: 'integer', minimum: 4 } }, required: ['rating'] };
    const response_format = { type: 'json_schema', json_schema: { name: 'rating', schema } };
    expect(JSON.parse(text(plan('Rate it', { response_format })))).toEqual({ rating: 4 });
    expect(JSON.parse(text(plan('Rate it', { response_format: { type: 'json_object' } })))).toHaveProperty('answer');
  });

  it.each<[string, string[]]>([
    ['Describe Ada Lovelace as JSON with keys name, age and is_alive.', ['name', 'age', 'is_alive']],
    ['Answer with the fields "title" and "tags"', ['title', 'tags']],
    ['Reply like {"city": "...", "population": 1}', ['city', 'population']],
    ['A JSON object whose `sentiment` and `score` keys say how it is', ['sentiment', 'score']],
  ])('answers json_object with the keys that the prompt names: %s', (prompt, keys) => {
    const response_format = { type: 'json_object' };
    expect(Object.keys(JSON.parse(text(plan(prompt, { response_format }))))).toEqual(keys);
    const messages = [
      { role: 'system', content: prompt },
      { role: 'user', content: 'Go' },
    ];
    expect(Object.keys(JSON.parse(text(plan('', { messages, response_format }))))).toEqual(keys);
  });

  it('refuses a schema that cannot be met, naming it', () => {
    const response_format = { type: 'json_schema', json_schema: { name: 'a', schema: { enum: [] } } };
    expect(() => plan('Rate it', { response_format })).toThrow(
      expect.objectContaining({
        code: 'validation_failed',
        options: expect.objectContaining({ param: 'response_format.json_schema.schema' }),
      }),
    );
  });

  it('writes the scripted length and reports the scripted usage', () => {
    expect(plan('[[mock: tokens=500]]').usage?.outputText).toBe(500);
    expect(plan('[[mock: tokens=500]]', { max_tokens: 20 })).toMatchObject({ finishReason: 'length' });
    expect(plan('[[mock: chunks=100]]').content).toHaveLength(100);
    expect(plan('[[mock: usage_prompt=5 usage_completion=7]]').usage).toMatchObject({ inputText: 5, outputText: 7 });
    expect(plan('[[mock: no_usage]]').usage).toBeNull();
  });
});
