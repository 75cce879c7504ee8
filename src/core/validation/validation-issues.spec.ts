import { joinPath } from './validation-issues';

describe('joinPath', () => {
  it.each([
    ['', 'model', 'model'],
    ['routing', 'order', 'routing.order'],
    ['messages', '[2]', 'messages[2]'],
    ['messages[2]', 'content[0].image_url.url', 'messages[2].content[0].image_url.url'],
    ['tools', '', 'tools'],
  ])('joins %j and %j to %s', (parent, child, path) => {
    expect(joinPath(parent, child)).toBe(path);
  });
});
