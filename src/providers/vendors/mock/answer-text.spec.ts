import { writeAnswer, writeTokens } from './answer-text';
import { readConversation } from './conversation';

const about = (prompt: string) =>
  readConversation({ model: 'mock/chat-1', messages: [{ role: 'user', content: prompt }] });
const answer = (prompt: string): string => writeAnswer(about(prompt));
const sentences = (text: string): string[] => text.split(/(?<=\.)\s/);

describe('writeAnswer', () => {
  it('repeats the question', () => {
    expect(answer('What is the capital of France?')).toContain('You asked "What is the capital of France"');
  });

  it('is the same for the same conversation and differs for another', () => {
    expect(answer('Tell me about tea')).toBe(answer('Tell me about tea'));
    expect(answer('Tell me about tea')).not.toBe(answer('Tell me about tin'));
  });

  it.each([1, 2, 3, 4, 5, 20, 137])('writes exactly %i words on request', (count) => {
    expect(answer(`Describe the sea in exactly ${count} words.`).split(/\s+/)).toHaveLength(count);
  });

  it.each([1, 4, 30])('writes %i sentences on request, even when the prompt has several', (count) => {
    expect(sentences(answer(`Hi! Look at the sea. Describe it in ${count} sentences.`))).toHaveLength(count);
  });

  it('writes paragraphs and bullet points on request', () => {
    expect(answer('Write two paragraphs about tea').split('\n\n')).toHaveLength(2);
    expect(answer('3 bullet points about tea').split('\n')).toEqual([
      expect.stringMatching(/^- /),
      expect.stringMatching(/^- /),
      expect.stringMatching(/^- /),
    ]);
  });

  it('uses the results of tools', () => {
    const conversation = {
      ...about('Weather in Paris?'),
      toolResults: [{ name: 'get_weather', text: '{"temp":21.5}' }],
    };
    expect(writeAnswer(conversation)).toContain('get_weather returned {"temp":21.5}');
  });

  it('mentions attachments, and accepts an empty prompt', () => {
    expect(writeAnswer({ ...about('What is this?'), attachments: ['an image'] })).toContain('with an image');
    expect(writeAnswer({ ...about(''), attachments: ['an image'] })).toContain('You sent an image');
    expect(answer('')).toContain('You sent no question');
  });

  it('shortens a long prompt between characters', () => {
    const text = answer('😀'.repeat(500));
    expect(text).toMatch(/^You asked "😀+…"/u);
    expect(text).not.toMatch(/\p{Cs}/u);
  });

  it('does not treat a prompt as a replacement pattern', () => {
    expect(answer("Explain $&$'$` please in 4 sentences")).toContain("$&$'$`");
  });
});

describe('writeTokens', () => {
  it.each([1, 10, 5000])('writes exactly %i tokens', (count) => {
    expect(writeTokens(about('tea'), count)).toHaveLength(count);
  });
});
