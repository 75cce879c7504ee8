import { ThinkTags } from './think-tags';

/** The whole text in pieces of this length. */
function split(text: string, length: number, name?: 'reasoning'): { reasoning: string; content: string } {
  const tags = new ThinkTags(name);
  const parts = text.match(new RegExp(`[^]{1,${length}}`, 'g')) ?? [];
  const all = [...parts.map((part) => tags.split(part)), tags.end()];
  return {
    reasoning: all.map(({ reasoning }) => reasoning).join(''),
    content: all.map(({ content }) => content).join(''),
  };
}

describe('ThinkTags', () => {
  it.each([
    ['<think>why</think>\n\nThe answer.', 'why', 'The answer.'],
    ['\n<think>a < b</think>The answer.', 'a < b', 'The answer.'],
    ['</think>\n\nThe answer.', '', 'The answer.'],
    ['The answer has a </think> in it.', '', 'The answer has a </think> in it.'],
    ['<thinking> is a tag', '', '<thinking> is a tag'],
    ['  indented', '', '  indented'],
    ['<think>cut off</th', 'cut off</th', ''],
    ['<thi', '', '<thi'],
    ['', '', ''],
    ['<think>why</think>\n<', 'why', '<'],
  ])('splits %j into reasoning and answer, however the text arrives', (text, reasoning, content) => {
    for (const length of [1, 2, 7, 1_000])
      expect([length, split(text, length)]).toEqual([length, { reasoning, content }]);
  });

  it('joins reasoning that arrives in several elements, one per piece', () => {
    const text = '<reasoning>Say</reasoning><reasoning> hi</reasoning>Hi <reasoning>';
    for (const length of [1, 2, 7, 1_000])
      expect(split(text, length, 'reasoning')).toEqual({ reasoning: 'Say hi', content: 'Hi <reasoning>' });
  });
});
