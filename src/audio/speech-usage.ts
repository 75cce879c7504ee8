import { countCodePoints } from '../core/validation/code-points';
import { NO_USAGE, type UsageVector } from '../providers/contract/usage';
import type { SpeechRequest } from '../providers/contract/speech';

/** Output tokens of token-priced models: 1,250 a minute. */
const TOKENS_PER_SECOND = 1_250 / 60;
/** Alphabetic characters, and Chinese, Japanese or Korean ones, which are a syllable or a word each. */
const ALPHABETIC_SECONDS = 1 / 14;
const SYLLABIC_SECONDS = 1 / 4.5;
const FIRST_SYLLABIC = 0x2e80;

/** Usage in characters: Unicode code points of the text. */
export function characterUsage({ input }: SpeechRequest): UsageVector {
  return { ...NO_USAGE, characters: countCodePoints(input) };
}

/** The same with estimated tokens: input text, and audio by the time that it takes to say the text. */
export function estimateSpeech(request: SpeechRequest, tokensPerByte: number): UsageVector {
  const { input, instructions, speed } = request;
  const textBytes = Buffer.byteLength(input) + Buffer.byteLength(instructions ?? '');
  const seconds = secondsToSay(input) / Math.min(1, speed ?? 1);
  return {
    ...characterUsage(request),
    inputText: Math.ceil(textBytes * tokensPerByte),
    outputAudio: Math.ceil(seconds * TOKENS_PER_SECOND),
  };
}

function secondsToSay(text: string): number {
  let seconds = 0;
  for (const character of text) {
    seconds += (character.codePointAt(0) as number) < FIRST_SYLLABIC ? ALPHABETIC_SECONDS : SYLLABIC_SECONDS;
  }
  return seconds;
}
