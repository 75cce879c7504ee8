import { findImageUrls, withImages } from './referenced-images';

const picture = (url: string, extra: object = {}) => ({ type: 'image_url', image_url: { url, ...extra } });
const text = { type: 'text', text: 'https://example.com/not-an-image.png' };

const MESSAGES = [
  { role: 'system', content: 'Be brief.' },
  {
    role: 'user',
    content: [text, picture('https://a.example/1.png', { detail: 'low' }), picture('data:image/png;base64,AA')],
  },
  { role: 'assistant', content: null, tool_calls: [] },
  { role: 'user', content: [picture('https://b.example/2.png'), picture('https://a.example/1.png')] },
  { role: 'user', content: [text] },
];

it('finds image URLs with their paths, and nothing else', () => {
  expect(findImageUrls(MESSAGES)).toEqual([
    { url: 'https://a.example/1.png', param: 'messages[1].content[1].image_url.url' },
    { url: 'https://b.example/2.png', param: 'messages[3].content[0].image_url.url' },
    { url: 'https://a.example/1.png', param: 'messages[3].content[1].image_url.url' },
  ]);
});

it('returns one empty list for messages without image URLs', () => {
  const none = findImageUrls([{ role: 'user', content: 'hi' }]);
  expect(none).toEqual([]);
  expect(findImageUrls([{ role: 'user', content: [text] }])).toBe(none);
});

it('replaces URLs in a copy and leaves the original messages unchanged', () => {
  const before = structuredClone(MESSAGES);
  const replaced = withImages(MESSAGES, new Map([['https://a.example/1.png', 'data:1']]));
  expect(replaced[1]?.content).toEqual([
    text,
    picture('data:1', { detail: 'low' }),
    picture('data:image/png;base64,AA'),
  ]);
  expect(replaced[3]?.content).toEqual([picture('https://b.example/2.png'), picture('data:1')]);
  expect([0, 2, 4].map((index) => replaced[index] === MESSAGES[index])).toEqual([true, true, true]);
  expect(MESSAGES).toEqual(before);
});
