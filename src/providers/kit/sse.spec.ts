import { ProviderError } from '../contract/provider-error';
import { SseDecoder } from './sse';

function decode(...chunks: (string | Buffer)[]): string[] {
  const events: string[] = [];
  const decoder = new SseDecoder((data) => events.push(data.toString('utf8')));
  for (const chunk of chunks) decoder.push(Buffer.from(chunk));
  decoder.end();
  return events;
}

describe('SseDecoder', () => {
  it.each([
    ['LF', '\n'],
    ['CR LF', '\r\n'],
    ['CR', '\r'],
  ])('returns the same events however the bytes are split, with line ending %s', (_name, lineEnd) => {
    const lines = [
      'data: {"text":"größer 日本 😀"}',
      '',
      ': ping',
      '',
      'event: x',
      'data:b',
      'data: c',
      '',
      'data',
      '',
      '',
    ];
    const bytes = Buffer.from(lines.join(lineEnd));
    const expected = ['{"text":"größer 日本 😀"}', 'b\nc', ''];
    for (let split = 0; split <= bytes.length; split++) {
      expect(decode(bytes.subarray(0, split), bytes.subarray(split))).toEqual(expected);
    }
    expect(decode(...[...bytes].map((byte) => Buffer.of(byte)))).toEqual(expected);
  });

  it.each(['\n', '\r\n', '\r'])(
    'skips a byte order mark at the beginning only, however split, before %j',
    (lineEnd) => {
      const bytes = Buffer.from(['\uFEFFdata: \uFEFFa', '', 'data: b', '', '\uFEFFdata: c', '', ''].join(lineEnd));
      for (let split = 0; split <= bytes.length; split++) {
        expect(decode(bytes.subarray(0, split), bytes.subarray(split))).toEqual(['\uFEFFa', 'b']);
      }
    },
  );

  it('accepts mixed line endings', () => {
    expect(decode('data: a\r\n\ndata: b\n\r\ndata: c\r\r')).toEqual(['a', 'b', 'c']);
  });

  it('delivers an event as soon as its blank line arrives', () => {
    const events: string[] = [];
    const decoder = new SseDecoder((data) => events.push(data.toString()));
    decoder.push(Buffer.from('data: a\n\ndata: b\n'));
    expect(events).toEqual(['a']);
  });

  it('delivers a last event without a line ending', () => {
    expect(decode('data: a\n\ndata: b')).toEqual(['a', 'b']);
  });

  it('reports activity for complete events and comments, not for parts of them', () => {
    const decoder = new SseDecoder(() => undefined);
    const alive = (text: string): boolean => decoder.push(Buffer.from(text));
    expect(alive(': keep-')).toBe(false);
    expect(alive('alive\n')).toBe(true);
    expect(['\n', 'data: x', 'yz\n', 'data: more\n', 'id: 7\n'].map(alive)).not.toContain(true);
    expect(alive('\n')).toBe(true);
  });

  it('ignores other fields and fields that only begin like data', () => {
    expect(decode('id: 1\nretry: 5\ndatabase: no\nda: no\n\n')).toEqual([]);
  });

  it('passes NUL bytes on to the parser', () => {
    expect(decode('data: a\0b\n\n')).toEqual(['a\0b']);
  });

  it.each(['\0data: {}', '\0\0\0\0data: {}', 'da\0ta: {}', '\0'])('returns %j as an event that is not JSON', (line) => {
    expect(decode(`data: 1\n\n${line}\n\ndata: 2\n\n`)).toEqual(['1', line, '2']);
  });

  it('refuses an event of more than 1 MiB, in one line or many, in any pieces', () => {
    const decoder = new SseDecoder(() => undefined);
    const piece = Buffer.alloc(64 * 1024, 'x');
    expect(() => {
      for (let i = 0; i < 17; i++) decoder.push(piece);
    }).toThrow(ProviderError);
    const lines = new SseDecoder(() => undefined);
    expect(() => lines.push(Buffer.from('data:\n'.repeat(1024 * 1024 + 2)))).toThrow(ProviderError);
  });

  it('accepts an event of 64 KiB in small pieces', () => {
    const text = 'y'.repeat(64 * 1024);
    const pieces = `data: ${text}\n\n`.match(/.{1,100}|\n/gs) ?? [];
    expect(decode(...pieces)).toEqual([text]);
  });

  it('joins any number of pieces and lines', () => {
    const lines = Array.from({ length: 10_000 }, (_, index) => String(index));
    const stream = lines.map((line) => `data: ${line}\n`).join('') + '\n';
    expect(decode(stream)).toEqual([lines.join('\n')]);
    expect(decode(...`data: ${stream.replaceAll('\n', ' ')}\n\n`)).toEqual([stream.replaceAll('\n', ' ')]);
  });
});
