import { array, assert as assertProperty, constantFrom, oneof, property, string } from 'fast-check';
import { renderToStaticMarkup } from 'react-dom/server';
import { Markdown } from './markdown';

const ALLOWED_TAGS = new Set(
  'div p code pre blockquote ol ul li table thead tbody tr th td hr strong em del br a span button svg rect path'.split(
    ' ',
  ),
);

const render = (text: string): string => renderToStaticMarkup(<Markdown text={text} />);

/** Elements, attributes and schemes of the markup that no text of a model may produce. */
function harmsOf(markup: string): readonly string[] {
  return [...markup.matchAll(/<\/?([a-z0-9]+)((?:"[^"]*"|[^">])*)>/gi)].flatMap(([, name = '', attributes = '']) => {
    const [, href = 'https://'] = /\shref="([^"]*)"/.exec(attributes) ?? [];
    return [
      ...(ALLOWED_TAGS.has(name.toLowerCase()) ? [] : [name]),
      ...(/\s(?:on\w+|srcset|src|style|formaction)=/i.test(attributes) ? [attributes] : []),
      ...(/^(?:https:\/\/|mailto:)/.test(href) ? [] : [href]),
    ];
  });
}

describe('the Markdown of a model', () => {
  it('becomes elements', () => {
    const markup = render('# Title\n\n**bold** and `code`\n\n- one\n- two\n\n| a |\n|---|\n| b |\n\n```js\n1 < 2\n```');
    for (const part of ['<strong>bold</strong>', '<li', '<td', '1 &lt; 2']) expect(markup).toContain(part);
  });

  it.each([
    '<script>alert(1)</script>',
    '<img src=x onerror=alert(1)>',
    '[x](javascript:alert(1))',
    '[x](JaVaScRiPt:alert(1))',
    '[x](data:text/html,<script>alert(1)</script>)',
    '![x](https://example.com/pixel.png)',
    '<a href="https://example.com" onclick="alert(1)">x</a>',
    '[x]: javascript:alert(1)\n\n[x]',
    '<javascript:alert(1)>',
    '[x](vbscript:1)',
    '[a](https://example.com" onmouseover="alert(1))',
  ])('cannot run or load anything: %s', (text) => {
    expect(harmsOf(render(text))).toEqual([]);
  });

  it.each([
    ['quotes', '>'.repeat(3000) + 'a'],
    ['quotes with spaces', '> '.repeat(3000) + 'a'],
    ['lists', '- '.repeat(2000) + 'a'],
    ['numbered lists', '1. '.repeat(2000) + 'a'],
    ['emphasis', '_a'.repeat(45_000)],
    ['brackets', '['.repeat(50_000)],
    ['links', '[a]('.repeat(20_000)],
    ['code marks', '`a'.repeat(30_000)],
  ])('is shown as it is when %s would break or delay the page', (_what, text) => {
    const startedAt = performance.now();
    expect(render(text).length).toBeGreaterThanOrEqual(text.length);
    expect(performance.now() - startedAt).toBeLessThan(2000);
  });

  it('names the host of a link', () => {
    expect(render('[docs](https://evil.example/a)')).toContain('(evil.example)');
  });

  it('has no element, attribute or scheme outside the list, whatever the text', () => {
    const piece = constantFrom(
      '<',
      '>',
      '"',
      "'",
      '`',
      '[',
      ']',
      '(',
      ')',
      '!',
      '*',
      '_',
      '#',
      '\n',
      '|',
      '-',
      '&',
      ' ',
      'javascript:',
      'https://a.b',
      'onerror=',
      '<img src=x ',
      '<svg/onload=',
      '</p>',
      '&#106;',
      'data:',
      ':',
      '//',
      '\\',
      '\u202e',
    );
    const harmless = property(
      array(oneof(piece, string({ maxLength: 5 })), { maxLength: 40 }),
      (parts) => harmsOf(render(parts.join(''))).length === 0,
    );
    expect(() => assertProperty(harmless, { numRuns: 2000 })).not.toThrow();
  });
});
