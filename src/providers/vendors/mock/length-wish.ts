/** The answer length that the prompt requests. */
export interface LengthWish {
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

const WISH = new RegExp(
  String.raw`\b(?:(under|below|fewer than|less than) )?(\d{1,6}|in an?|${[...NUMBERS.keys()].join('|')})[ -]` +
    String.raw`(?:(?:short|brief|simple|single|plain|concise) )?(word|sentence|paragraph|bullet)s?\b`,
  'i',
);

/**
 * Finds wishes such as "in one sentence", "in exactly 20 words", "under 50 words", "two paragraphs" or
 * "3 bullet points". The first one counts; `null` when there is none.
 */
export function readLengthWish(prompt: string): LengthWish | null {
  const match = WISH.exec(prompt);
  if (match === null) {
    return null;
  }
  const [, below, amount = '', unitText = ''] = match;
  const unit = unitText.toLowerCase() as LengthWish['unit'];
  const number = /^\d/.test(amount) ? Number(amount) : (NUMBERS.get(amount.toLowerCase()) ?? 1);
  return { unit, count: Math.min(Math.max(below === undefined ? number : number - 1, 1), MOST[unit]) };
}
