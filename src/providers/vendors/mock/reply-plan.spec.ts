import type { ChatMessage, ChatRequest } from '../../contract/chat';
import { lastUserText, readConversation } from './conversation';
import { planReply, type ReplyPlan } from './mock-chat';
import { readScript } from './scripted-call';

function plan(content: ChatMessage['content'], fields: Partial<ChatRequest> = {}): ReplyPlan {
  const request: ChatRequest = { model: 'mock/chat-1', messages: [{ role: 'user', content }], ...fields };
  const { script, text } = readScript(lastUserText(request).text, 'messages[0].content');
  return planReply(request, readConversation(request, text), script);
}
const textOf = ({ content }: ReplyPlan): string => content?.join('') ?? '';
const format = (schema: object) => ({
  response_format: { type: 'json_schema', json_schema: { name: 'answer', schema } },
});

describe('planReply', () => {
  it('repeats the question, and answers equal requests alike', () => {
    expect(textOf(plan('What is tea?'))).toContain('You asked "What is tea"');
    expect(textOf(plan('What is tea?'))).toBe(textOf(plan('What is tea?')));
    expect(textOf(plan('What is tea?'))).not.toBe(textOf(plan('What is tin?')));
  });

  it('mentions attachments, and accepts an empty prompt', () => {
    const image = { type: 'image_url', image_url: { url: 'https://example.com/a.png' } };
    expect(textOf(plan([{ type: 'text', text: 'What is this?' }, image]))).toContain('with an image');
    expect(textOf(plan([image]))).toContain('You sent an image');
    expect(textOf(plan(''))).toContain('You sent no question');
  });

  it('repeats tool results under the names of the called tools', () => {
    const messages = [
      { role: 'user', content: 'Weather?' },
      { role: 'assistant', content: null, tool_calls: [{ id: 'a', function: { name: 'get_weather' } }] },
      { role: 'tool', tool_call_id: 'a', content: '{"temp":21.5}' },
      { role: 'tool', tool_call_id: 'b', content: 'noon' },
    ];
    const text = textOf(plan('', { messages }));
    expect(text).toContain('get_weather returned {"temp":21.5}, and The tool returned noon');
  });

  it('shortens a long question between characters', () => {
    const text = textOf(plan('😀'.repeat(2_500)));
    expect(text).toMatch(/^You asked "😀+…"/u);
    expect(text).not.toMatch(/\p{Cs}/u);
  });

  it('counts a prompt token per four bytes and 85 per image, and the tokens that it writes', () => {
    const image = { type: 'image_url', image_url: { url: `data:image/png;base64,${'A'.repeat(4000)}` } };
    const { usage, content } = plan([{ type: 'text', text: 'éééé' }, image]);
    expect(usage).toMatchObject({ inputText: 87, outputText: content?.length });
  });

  it.each(['max_tokens', 'max_completion_tokens'])('ends at %s', (field) => {
    const { content, usage, finishReason } = plan('Hello', { max_tokens: 9, [field]: 5 });
    expect([content?.length, usage?.outputText, finishReason]).toEqual([5, 5, 'length']);
    expect(plan('Hello', { [field]: 5_000 }).finishReason).toBe('stop');
  });

  it.each([['mock'], [['zebra', 'mock', 'model']]])('ends before the first of the stop sequences %j', (stop) => {
    const cut = plan('Hello', { stop });
    expect(textOf(cut)).toBe('You asked "Hello", and this is the ');
    expect([cut.finishReason, cut.usage?.outputText]).toEqual(['stop', cut.content?.length]);
  });

  it('answers in JSON on request, with values from the prompt', () => {
    const properties = { city: { type: 'string' }, days: { type: 'integer' }, unit: { enum: ['celsius', 'kelvin'] } };
    const asked = plan('The weather in New York for 3 days in Kelvin', format({ type: 'object', properties }));
    expect(JSON.parse(textOf(asked))).toEqual({ city: 'New York', days: 3, unit: 'kelvin' });
    expect(JSON.parse(textOf(plan('Hi', { response_format: { type: 'json_object' } })))).toHaveProperty('answer');
  });

  it('refuses a schema that cannot be met, naming it', () => {
    const param = 'response_format.json_schema.schema';
    const refusal = { code: 'validation_failed', options: expect.objectContaining({ param }) };
    expect(() => plan('Rate it', format({ enum: [] }))).toThrow(expect.objectContaining(refusal));
  });

  it('writes the scripted length and reports the scripted usage', () => {
    expect(plan('[[mock: tokens=500]]').usage?.outputText).toBe(500);
    expect(plan('[[mock: tokens=1]]').content).toHaveLength(1);
    expect(plan('[[mock: chunks=100]]').content).toHaveLength(100);
    expect(plan('[[mock: usage_prompt=5 usage_completion=7]]').usage).toMatchObject({ inputText: 5, outputText: 7 });
    expect(plan('[[mock: no_usage]]').usage).toBeNull();
  });

  it('reads directives in the last user message only', () => {
    const messages = [
      { role: 'user', content: '[[mock: tokens=1]] first' },
      { role: 'user', content: ' second\n\n[[mock: tokens=7]] question ' },
    ];
    expect(plan('', { messages }).content).toHaveLength(7);
  });
});
