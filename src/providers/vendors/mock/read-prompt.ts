import { headOf } from './tokens';

/** The answer length that the prompt requests. */
export interface RequestedLength {
  readonly unit: 'word' | 'sentence' | 'paragraph' | 'bullet';
  /** At least 1. */
  readonly count: number;
}

const NUMBERS: ReadonlyMap<string, number> = new Map([
  ...'one two three four five six seven eight nine ten'
    .split(' ')
    .map((word, index): [string, number] => [word, index + 1]),
  ['twelve', 12],
  ['fifteen', 15],
  ['twenty', 20],
]);
const MOST = { word: 2000, sentence: 200, paragraph: 50, bullet: 100 } as const;

const REQUESTED_LENGTH = new RegExp(
  String.raw`\b(?:(under|below|fewer than|less than) )?(\d{1,6}|in an?|${[...NUMBERS.keys()].join('|')})[ -]` +
    String.raw`(?:(?:short|brief|simple|single|plain|concise) )?(word|sentence|paragraph|bullet)s?\b`,
  'i',
);

/**
 * Finds phrases such as "in one sentence", "in exactly 20 words", "under 50 words", "two paragraphs" or
 * "3 bullet points". The first one counts; `null` when there is none.
 */
export function readRequestedLength(prompt: string): RequestedLength | null {
  const match = REQUESTED_LENGTH.exec(prompt);
  if (match === null) {
    return null;
  }
  const [, below, amount = '', unitText = ''] = match;
  const unit = unitText.toLowerCase() as RequestedLength['unit'];
  const number = /^\d/.test(amount) ? Number(amount) : (NUMBERS.get(amount.toLowerCase()) ?? 1);
  return { unit, count: Math.min(Math.max(below === undefined ? number : number - 1, 1), MOST[unit]) };
}

/** Words about how to answer rather than about the topic. */
const COMMON_WORDS: ReadonlySet<string> = new Set(
  (
    'about above after again also answer because been before being below between briefly brief bullet can could describe ' +
    'did does hi exactly explain fewer for from give had has have hello hey how into just less let like list make many may ' +
    'me more most much must need not now one only other our out over paragraph paragraphs please point points questions ' +
    'question really reply said say sentence sentences shall should show some tell than thank thanks that the their them ' +
    'then there these they this those three two under use using very want was were what when where which while who why ' +
    'will with word words would write you your are and but its she his her him'
  ).split(' '),
);
const LONGEST_WORD = 24;

/** The likely topic of the prompt: its first name, else its longest uncommon word; else `null`. */
export function readTopic(prompt: string): string | null {
  const start = headOf(prompt, 600);
  const [name] = readNames(start);
  if (name !== undefined) {
    return name;
  }
  let longest: string | null = null;
  for (const word of start.match(/[\p{L}\p{N}][\p{L}\p{M}\p{N}'’-]*/gu) ?? []) {
    const isCandidate = word.length > 2 && word.length <= LONGEST_WORD && !COMMON_WORDS.has(word.toLowerCase());
    if (isCandidate && word.length > (longest?.length ?? 0)) {
      longest = word;
    }
  }
  return longest;
}

/** Names in the prompt: runs of capitalised words, "Berlin" or "Ada Lovelace", in order. */
export function readNames(prompt: string): string[] {
  const runs = prompt.match(/\p{Lu}[\p{L}\p{M}'’-]*(?: \p{Lu}[\p{L}\p{M}'’-]*){0,2}/gu) ?? [];
  const names = runs.map((run) => {
    const [first = '', ...others] = run.split(' ');
    return isOrdinary(first, prompt) ? others.join(' ') : run;
  });
  return [...new Set(names)].filter((name) => name !== '');
}

/** A capital at the start says little: "Weather in Paris" names one place, "Alice and Bob are here" two people. */
function isOrdinary(word: string, prompt: string): boolean {
  if (word.length < 2 || COMMON_WORDS.has(word.toLowerCase())) {
    return true;
  }
  return prompt.startsWith(`${word} `) && !/^\S+ (?:and|is|are|was|has|wants|will) /.test(prompt);
}

const KEYS_READ_LENGTH = 4_000;
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
const NUMBER_NAME =
  /(?:^|_)(?:age|amount|count|height|length|number|percent|population|price|quantity|rank|rating|score|size|total|weight|width|year)$/i;
const FLAG_NAME = /^(?:is|has|can|should|was)_|^(?:enabled|valid|success|true)$/i;

/** In the order of the text; empty when it names none. */
export function namedKeys(text: string): readonly string[] {
  const read = headOf(text, KEYS_READ_LENGTH);
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
  if (NUMBER_NAME.test(key)) return 'integer';
  return FLAG_NAME.test(key) ? 'boolean' : 'string';
}
