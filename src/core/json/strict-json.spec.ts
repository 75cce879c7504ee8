import { GatewayError } from '../errors/gateway-error';
import {
  MAX_JSON_CONTAINERS,
  MAX_JSON_DEPTH,
  MAX_JSON_NAMES,
  MAX_JSON_STRINGS,
  MAX_JSON_VALUES,
  parseStrictJson,
} from './strict-json';

function failure(body: string | Buffer): { code: string; param: string | undefined } {
  try {
    parseStrictJson(Buffer.isBuffer(body) ? body : Buffer.from(body));
  } catch (error) {
    if (error instanceof GatewayError) return { code: error.code, param: error.param };
    throw error;
  }
  throw new Error('the body was accepted');
}

describe('strict JSON', () => {
  it.each([
    ['{"a":1}', { a: 1 }],
    [' {"a":[{"b":"c"},{"b":"c"}],"d":{"a":true,"e":null}} ', { a: [{ b: 'c' }, { b: 'c' }], d: { a: true, e: null } }],
    ['{"text":"quote \\" colon : comma , brace { \\\\"}', { text: 'quote " colon : comma , brace { \\' }],
    ['{"emoji":"\\ud83d\\ude00","n":-1.5e3}', { emoji: '😀', n: -1500 }],
    ['"text"', 'text'],
    ['{"":{"":1}}', { '': { '': 1 } }],
  ])('reads %s as JSON.parse does', (text, expected) => {
    expect(parseStrictJson(Buffer.from(text))).toEqual(expected);
  });

  it.each([[''], ['{'], ['{"a":}'], ['[1,]'], ['nul'], ["{'a':1}"], ['{"a":1}}'], ['\ufeff{}'], ['{"a":01}']])(
    'refuses %j as invalid JSON',
    (text) => {
      expect(failure(text).code).toBe('invalid_json');
    },
  );

  it('refuses invalid UTF-8 instead of replacing it', () => {
    expect(failure(Buffer.from([0x7b, 0x22, 0xc3, 0x28, 0x22, 0x3a, 0x31, 0x7d])).code).toBe('invalid_json');
    expect(failure(Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22])).code).toBe('invalid_json');
  });

  it.each([
    ['{"a":1,"a":2}', 'a'],
    ['{"x":[{"b":{"c":1,"d":2,"c":3}}]}', 'x[0].b.c'],
    ['{"a":{"a":1},"b":[1,{"k":0},{"k":0,"k":1}]}', 'b[2].k'],
    ['{"a\\u0062":1,"ab":2}', 'ab'],
    ['{"__proto__":1,"__proto__":2}', '__proto__'],
  ])('refuses the repeated name in %s with its path', (text, param) => {
    expect(failure(text)).toEqual({ code: 'validation_failed', param });
  });

  it.each([
    ['{"a":[1,1e400]}', 'a[1]'],
    ['{"a":{"b":-1E999}}', 'a.b'],
    [`{"a":${'9'.repeat(400)}}`, 'a'],
    ['{"a":{"b":"x\\u0000y"}}', 'a.b'],
    ['{"messages":[{"content":"\\ud800"}]}', 'messages[0].content'],
    ['{"a":{"\\u0000":1}}', 'a'],
  ])('refuses the value in %s that cannot be passed on unchanged', (text, param) => {
    expect(failure(text)).toEqual({ code: 'validation_failed', param });
  });

  it.each([
    ['{"seed":9007199254740993}', 'seed'],
    ['{"seed":-9007199254740993}', 'seed'],
    [
      '{"tools":[{"function":{"parameters":{"x":{"maximum":9223372036854775807}}}}]}',
      'tools[0].function.parameters.x.maximum',
    ],
    ['{"a":["9007199254740993",[1,{"2":0,"1":18446744073709551615}]]}', 'a[1][1].1'],
    ['{"a\u0062":9007199254740993.0}', 'ab'],
    ['{"a":900719925474099.3e1}', 'a'],
    ['{"a":9007199254740991.5}', 'a'],
    [`{"a":1${'0'.repeat(20)}.${'0'.repeat(2_000)}1}`, 'a'],
    ['9007199254740993', undefined],
  ])('refuses the number in %s that would lose digits', (text, param) => {
    expect(failure(text)).toEqual({ code: 'validation_failed', param });
  });

  it.each([
    '9007199254740991',
    '-9007199254740991',
    '-0',
    '1.0',
    '1e5',
    '0.1000000000000000055',
    '9007199254740992',
    '1e23',
    '-1.7976931348623157e308',
    '9007199254740994.0E0',
    '5e-324',
  ])('accepts %s, which keeps its value', (text) => {
    expect(parseStrictJson(Buffer.from(`{"a":[${text}]}`))).toEqual({ a: [Number(text)] });
  });

  it('limits depth, names, values, strings and containers, at the limit and one above', () => {
    const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);
    expect(() => parseStrictJson(Buffer.from(nested(MAX_JSON_DEPTH)))).not.toThrow();
    expect(failure(nested(MAX_JSON_DEPTH + 1)).code).toBe('validation_failed');
    expect(failure(nested(1_000_000)).code).toBe('validation_failed');

    const named = (count: number) => `{${Array.from({ length: count }, (_, index) => `"k${index}":0`).join(',')}}`;
    expect(() => parseStrictJson(Buffer.from(named(MAX_JSON_NAMES)))).not.toThrow();
    expect(failure(named(MAX_JSON_NAMES + 1)).code).toBe('validation_failed');

    expect(failure(`[${'0,'.repeat(MAX_JSON_VALUES)}0]`).code).toBe('validation_failed');

    const strings = (count: number) => `{"a":[${Array.from({ length: count }, () => '"\\u0061"').join(',')}]}`;
    expect(() => parseStrictJson(Buffer.from(strings(MAX_JSON_STRINGS)))).not.toThrow();
    expect(failure(strings(MAX_JSON_STRINGS + 1)).code).toBe('validation_failed');

    const containers = (count: number) => `[${Array.from({ length: count - 1 }, () => '{}').join(',')}]`;
    expect(() => parseStrictJson(Buffer.from(containers(MAX_JSON_CONTAINERS)))).not.toThrow();
    expect(failure(containers(MAX_JSON_CONTAINERS + 1)).code).toBe('validation_failed');
  });
});
