import type { ChatMessage } from '../../contract/chat';
import { readConversation } from './conversation';

const read = (...messages: ChatMessage[]) => readConversation({ model: 'mock/chat-1', messages });

const seed = (content: string) => read({ role: 'user', content }).seed;

describe('readConversation', () => {
  it('takes prompt and directives from the last user message only', () => {
    const { prompt, script } = read(
      { role: 'user', content: '[[mock: hang]] first' },
      { role: 'assistant', content: '[[mock: hang]]' },
      { role: 'user', content: ' second\n\n[[mock: delay=1]] question ' },
    );
    expect(prompt).toBe('second question');
    expect(script).toEqual({ delayMs: 1 });
  });

  it('reads text parts and names the other parts', () => {
    const { prompt, attachments } = read({
      role: 'user',
      content: [
        { type: 'text', text: 'Look' },
        { type: 'image_url', image_url: { url: 'https://example.com/a.png' } },
        { type: 'input_audio', input_audio: { data: '', format: 'wav' } },
      ],
    });
    expect(prompt).toBe('Look');
    expect(attachments).toEqual(['an image', 'a recording']);
  });

  it('names tool results after the called functions', () => {
    const { toolResults } = read(
      { role: 'user', content: 'Weather?' },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'a', type: 'function', function: { name: 'get_weather', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: 'a', content: '21 °C' },
      { role: 'tool', tool_call_id: 'b', content: 'noon' },
    );
    expect(toolResults).toEqual([
      { name: 'get_weather', text: '21 °C' },
      { name: 'The tool', text: 'noon' },
    ]);
  });

  it('counts a quarter token per byte, and an image as a fixed number', () => {
    const image = { type: 'image_url', image_url: { url: `data:image/png;base64,${'A'.repeat(4000)}` } };
    expect(read({ role: 'user', content: 'é'.repeat(20) }).promptTokens).toBe(10);
    expect(read({ role: 'user', content: [{ type: 'text', text: 'abcd' }, image] }).promptTokens).toBe(86);
  });

  it('keeps the start and the end of a long prompt', () => {
    const { prompt } = read({ role: 'user', content: `start ${'x'.repeat(50_000)} in one sentence` });
    expect(prompt.length).toBeLessThan(2100);
    expect(prompt).toMatch(/^start x.*x in one sentence$/);
  });

  it('derives equal seeds from equal messages and different seeds from others', () => {
    expect(seed('one')).toBe(seed('one'));
    expect(seed('one')).not.toBe(seed('two'));
  });
});
