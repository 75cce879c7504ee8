import canonicalize from 'canonicalize';
import * as fc from 'fast-check';
import { MAX_JSON_DEPTH, parseStrictJson } from '../../core/json/strict-json';
import { fingerprintJson } from './fingerprint';

function canonical(value: unknown): string {
  return canonicalize(value) ?? '';
}

/** Serializes the same value differently: member order, whitespace, number notation. */
function rewrite(value: unknown, choose: () => boolean): string {
  const space = choose() ? ' ' : '';
  if (Array.isArray(value)) return `[${space}${value.map((item) => rewrite(item, choose)).join(`${space},`)}]`;
  if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value);
    if (choose()) members.reverse();
    const written = members.map(([name, member]) => `${JSON.stringify(name)}${space}:${rewrite(member, choose)}`);
    return `{${written.join(`,${space}`)}${space}}`;
  }
  if (typeof value === 'number' && Number.isInteger(value) && Math.abs(value) < 1e15 && choose()) return `${value}.0`;
  return JSON.stringify(value);
}

/** `-0` and `0` are one number on the wire. */
const json = fc.jsonValue({ noUnicodeString: false }).map((value) => JSON.parse(JSON.stringify(value)) as unknown);

describe('canonical JSON', () => {
  it('is equal for two texts of the same value', () => {
    fc.assert(
      fc.property(json, fc.infiniteStream(fc.boolean()), (value, choices) => {
        const text = rewrite(value, () => choices.next().value === true);
        expect(canonical(JSON.parse(text))).toBe(canonical(value));
      }),
    );
  });

  it('is different for different values: it parses back to the value', () => {
    fc.assert(fc.property(json, (value) => expect(JSON.parse(canonical(value))).toEqual(value)));
  });

  it.each([
    ['{"b":1,"a":2}', '{"a":2,"b":1}'],
    ['{"é":1,"z":2,"Z":3}', '{"Z":3,"z":2,"é":1}'],
    ['{"10":1,"9":2}', '{"10":1,"9":2}'],
    ['[1.0, 1e2, -0, 0.10]', '[1,100,0,0.1]'],
    ['{"a":null,"b":[],"c":{}}', '{"a":null,"b":[],"c":{}}'],
    ['{"__proto__":1}', '{"__proto__":1}'],
  ])('of %s is %s', (text, expected) => {
    expect(canonical(parseStrictJson(Buffer.from(text)))).toBe(expected);
  });
});

describe('the fingerprint of a request', () => {
  it('is the hash of operation, kind and canonical body', () => {
    // printf 'createEmbedding\njson\n{"a":1}' | sha256sum
    expect(fingerprintJson('createEmbedding', { a: 1 })).toBe(
      '8c6fa19fce8928c27e8fc1c9f6f61d26252932986727a5ad383b9e2711d772ea',
    );
  });

  it('differs by operation and by unknown fields', () => {
    const prints = [
      fingerprintJson('createEmbedding', { a: 1 }),
      fingerprintJson('createChatCompletion', { a: 1 }),
      fingerprintJson('createEmbedding', { a: 1, unknown: null }),
    ];
    expect(new Set(prints).size).toBe(3);
  });

  it('differs by a value at the deepest level that the parser accepts', () => {
    const nested = (value: string) => {
      const text = `${'['.repeat(MAX_JSON_DEPTH)}${value}${']'.repeat(MAX_JSON_DEPTH)}`;
      return fingerprintJson('op', parseStrictJson(Buffer.from(text)));
    };
    expect(nested('1')).not.toBe(nested('2'));
  });

  it('differs for integers next to each other up to the largest exact one', () => {
    const largest = Number.MAX_SAFE_INTEGER;
    expect(fingerprintJson('op', { seed: largest })).not.toBe(fingerprintJson('op', { seed: largest - 1 }));
  });

  it('covers every byte of a large body', () => {
    const body = { text: 'y'.repeat(100_000), list: Array.from({ length: 5_000 }, (_, index) => index) };
    expect(fingerprintJson('op', body)).toBe(fingerprintJson('op', JSON.parse(JSON.stringify(body))));
    expect(fingerprintJson('op', { ...body, text: `${body.text}z` })).not.toBe(fingerprintJson('op', body));
  });
});
