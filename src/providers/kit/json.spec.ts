import * as fc from 'fast-check';
import { DataSplitter, parseJsonObject } from './json';

function split(bytes: Buffer, size: number): { items: unknown[]; frame: unknown } {
  const items: unknown[] = [];
  const splitter = new DataSplitter((item) => items.push(JSON.parse(item.toString())));
  for (let at = 0; at < bytes.length; at += size) splitter.push(bytes.subarray(at, at + size));
  return { items, frame: JSON.parse(splitter.end()) };
}

describe('DataSplitter', () => {
  it('returns every item of any list, and the frame without items, however the bytes are split', () => {
    // Strings full of quotes and escapes.
    const text = fc.string({ unit: fc.constantFrom('\\', '"', '{', ']', 'a', 'ü', '\n') });
    const item = fc.record({ text, nested: fc.array(fc.record({ data: fc.array(text) }), { maxLength: 2 }) });
    fc.assert(
      fc.property(fc.array(item, { maxLength: 4 }), text, fc.integer({ min: 1, max: 20 }), (data, note, size) => {
        const document = { note, data, usage: { note } };
        const { items, frame } = split(Buffer.from(JSON.stringify(document)), size);
        expect(items).toEqual(data);
        expect(frame).toEqual({ ...document, data: [] });
      }),
      { numRuns: 300 },
    );
  });
});

describe('parseJsonObject', () => {
  it('skips a byte order mark before the object, and only there', () => {
    const json = '{"a":"\uFEFFb"}';
    for (const text of [json, `\uFEFF${json}`]) {
      expect(parseJsonObject(text)).toEqual({ a: '\uFEFFb' });
      expect(parseJsonObject(Buffer.from(text))).toEqual({ a: '\uFEFFb' });
    }
    expect(parseJsonObject(`\uFEFF\uFEFF${json}`)).toBeNull();
  });
});
