import { readConversation } from './conversation';
import { PromptHints } from './prompt-hints';

const hintsFor = (prompt: string): PromptHints =>
  new PromptHints(readConversation({ model: 'mock/chat-1', messages: [{ role: 'user', content: prompt }] }));

describe('PromptHints', () => {
  it.each([
    ['What is the weather in New York today?', 'city', 'New York'],
    ['Ask Ada Lovelace about Berlin', 'location', 'Ada Lovelace'],
    ['Fly from Oslo to Rome', 'destination', 'Oslo'],
    ['Alice and Bob meet on Friday', 'name', 'Alice'],
    ['Alice and Bob meet on Friday', 'date', 'Friday'],
    ['Book 2031-05-06 please', 'start_date', '2031-05-06'],
    ['Book a table', 'date', '2030-01-01'],
    ['Find red shoes', 'search_query', 'Find red shoes'],
    ['find red sneakers', 'product', 'sneakers'],
    ['', 'product_name', 'product name'],
  ])('reads from %j for %s: %j', (prompt, property, value) => {
    expect(hintsFor(prompt).text(property, 0)).toBe(value);
  });

  it('uses one name after the other for the elements of an array', () => {
    const hints = hintsFor('Alice and Bob meet');
    expect([0, 1, 2].map((variant) => hints.text('participants', variant))).toEqual(['Alice', 'Bob', 'Bob']);
  });

  it('writes a new sentence for each prose property', () => {
    const hints = hintsFor('What is tea?');
    expect(hints.text('summary', 0)).toContain('You asked "What is tea"');
    expect(hints.text('explanation', 0)).not.toContain('You asked');
  });

  it('uses numbers in order, but none from inside a word', () => {
    const hints = hintsFor('Convert 21.5 by gpt4 for 3 days at -2');
    expect([0, 1, 2, 3].map((variant) => hints.number('n', variant))).toEqual([21.5, 3, -2, undefined]);
  });

  it('prefers the value that the prompt mentions', () => {
    expect(hintsFor('in Fahrenheit please').choose(['celsius', 'fahrenheit'])).toBe(1);
    expect(hintsFor('please').choose(['celsius', 1, null, ''])).toBe(-1);
  });
});
