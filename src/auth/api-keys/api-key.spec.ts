import { randomInt } from 'node:crypto';
import { digestApiKey, generateApiKey, hasValidShape, toDisplayParts } from './api-key';

const PRINTABLE = Array.from({ length: 94 }, (_, index) => String.fromCharCode(33 + index));
const BASE62 = PRINTABLE.filter((character) => /[0-9A-Za-z]/.test(character));

const pick = <T>(items: readonly T[]): T => items[randomInt(items.length)] as T;

/** One random typing error or forgery; never returns the key itself. */
function mutate(key: string): string {
  const at = randomInt(key.length);
  const mutations = [
    () => key.slice(0, at) + pick(PRINTABLE) + key.slice(at + 1),
    () => key.slice(0, at) + pick(BASE62) + key.slice(at + 1),
    () => key.slice(0, at) + key.slice(at + 1),
    () => key.slice(0, at) + pick(BASE62) + key.slice(at),
    () => key.slice(0, at),
    () => key + pick(PRINTABLE),
    () => key.slice(0, at) + (key[at + 1] ?? '') + (key[at] ?? '') + key.slice(at + 2),
    () => key.slice(0, at) + swapCase(key.slice(at)),
    () => 'sk-llm-' + Array.from({ length: 38 }, () => pick(BASE62)).join(''),
    () => key.replace('sk-llm-', pick(['sk-', 'SK-LLM-', 'sk_llm_', 'pk-llm-', ''])),
  ];
  const mutated = pick(mutations)();
  return mutated === key ? mutate(key) : mutated;
}

const swapCase = (text: string): string =>
  text.replace(/[a-z]|[A-Z]/g, (letter) => (letter < 'a' ? letter.toLowerCase() : letter.toUpperCase()));

describe('API key text', () => {
  it('generates unique keys of 45 characters that pass the format check', () => {
    const keys = Array.from({ length: 1_000 }, generateApiKey);
    expect(keys.filter((key) => !/^sk-llm-[0-9A-Za-z]{38}$/.test(key) || !hasValidShape(key))).toEqual([]);
    expect(new Set(keys).size).toBe(keys.length);
  });

  it('accepts a key whose checksum another implementation computed', () => {
    // CRC32 of the first 39 bytes is 0x5119b585 = 1360639365, in base62 1U56SD (computed with zlib in Python).
    expect(hasValidShape('sk-llm-000000000000000000000000000000001U56SD')).toBe(true);
  });

  it('draws all characters of the alphabet with equal frequency', () => {
    const counts = new Map<string, number>();
    for (let round = 0; round < 4_000; round++) {
      for (const character of generateApiKey().slice(7, 39)) {
        counts.set(character, (counts.get(character) ?? 0) + 1);
      }
    }
    const expected = (4_000 * 32) / 62;
    const chiSquare = [...counts.values()].reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0);
    expect(counts.size).toBe(62);
    // 61 degrees of freedom: a random run exceeds 130 once in a million; a modulo bias gives thousands.
    expect(chiSquare).toBeLessThan(130);
  });

  it('accepts none of 10,000 mutated keys', () => {
    const accepted = Array.from({ length: 10_000 }, () => mutate(generateApiKey())).filter(hasValidShape);
    expect(accepted).toEqual([]);
  });

  it.each(['', 'sk-llm-', 'sk-llm-\0', `${generateApiKey()}\n`, ` ${generateApiKey()}`, 'ſk-llm-'.padEnd(45, '0')])(
    'refuses %j',
    (text) => {
      expect(hasValidShape(text)).toBe(false);
    },
  );

  it('digests under the pepper to 32 bytes', () => {
    const digest = digestApiKey('sk-llm-x', 'pepper');
    expect(digest).toHaveLength(32);
    expect(digestApiKey('sk-llm-x', 'pepper')).toEqual(digest);
    expect(digestApiKey('sk-llm-x', 'Pepper')).not.toEqual(digest);
    expect(digestApiKey('sk-llm-y', 'pepper')).not.toEqual(digest);
  });

  it('displays the first eleven and the last four characters', () => {
    expect(toDisplayParts('sk-llm-abcdefgh1234')).toEqual({ prefix: 'sk-llm-abcd', last4: '1234' });
  });
});
