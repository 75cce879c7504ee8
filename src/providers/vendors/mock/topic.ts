import { headOf } from './tokens';

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
