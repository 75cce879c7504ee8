/** The keys that a text requests for a JSON object. */
import { headOf } from './tokens';

const READ_LENGTH = 4_000;
const MAX_KEYS = 32;
const KEY = '[A-Za-z_][A-Za-z0-9_]{0,63}';
const QUOTE = '["\'`]';
/** `"name":`, as in an example of the object. */
const IN_EXAMPLE = new RegExp(`${QUOTE}(${KEY})${QUOTE}\\s*:`, 'g');
const SEPARATOR = '(?:\\s*,\\s*and\\s+|\\s*,\\s*|\\s+and\\s+)';
const LISTED = `${QUOTE}?${KEY}${QUOTE}?`;
const LIST = `${LISTED}(?:${SEPARATOR}${LISTED}){0,${MAX_KEYS}}`;
const NOUN = '(?:keys?|fields?|propert(?:y|ies))';
/** "keys name, age and city". */
const AFTER_NOUN = new RegExp(`\\b${NOUN}(?:\\s+(?:named|called|are|is))?\\s*:?\\s+(${LIST})`, 'gi');
/** "`name` and `age` keys": quoted, since unquoted words there are ordinary prose. */
const QUOTED = `${QUOTE}${KEY}${QUOTE}`;
const BEFORE_NOUN = new RegExp(`(${QUOTED}(?:${SEPARATOR}${QUOTED}){0,${MAX_KEYS}})\\s+${NOUN}\\b`, 'gi');
const NO_KEYS: ReadonlySet<string> = new Set(
  'a an and are as be for from have how in is it must of only should that the these to was were what which with you your'.split(
    ' ',
  ),
);
const NUMBER =
  /(?:^|_)(?:age|amount|count|height|length|number|percent|population|price|quantity|rank|rating|score|size|total|weight|width|year)$/i;
const FLAG = /^(?:is|has|can|should|was)_|^(?:enabled|valid|success|true)$/i;

/** In the order of the text; empty when it names none. */
export function namedKeys(text: string): readonly string[] {
  const read = headOf(text, READ_LENGTH);
  const inExample = Array.from(read.matchAll(IN_EXAMPLE), ([, key = '']) => key);
  const lists =
    inExample.length > 0 ? inExample : [AFTER_NOUN, BEFORE_NOUN].flatMap((pattern) => listed(read, pattern));
  return [...new Set(lists)].slice(0, MAX_KEYS);
}

/** A JSON Schema of an object with these keys, each of the type that its name suggests. */
export function schemaOfKeys(keys: readonly string[]): object {
  return {
    type: 'object',
    properties: Object.fromEntries(keys.map((key) => [key, { type: typeOf(key) }])),
    required: keys,
  };
}

function listed(text: string, pattern: RegExp): string[] {
  return Array.from(text.matchAll(pattern), ([, list = '']) => list).flatMap((list) => {
    const keys = list.split(new RegExp(SEPARATOR)).map((key) => key.replace(/^\W|\W$/g, ''));
    // One word without quotes may be anything: "whose keys say how it is".
    const isProse = keys.length === 1 && !/^["'`]/.test(list);
    return isProse || keys.some((key) => NO_KEYS.has(key.toLowerCase())) ? [] : keys;
  });
}

function typeOf(key: string): string {
  if (NUMBER.test(key)) return 'integer';
  return FLAG.test(key) ? 'boolean' : 'string';
}
