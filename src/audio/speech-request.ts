import { GatewayError } from '../core/errors/gateway-error';
import { countCodePoints } from '../core/validation/code-points';
import type { CatalogModel } from '../models/catalog-model';
import type { SpeechRequest } from '../providers/contract/speech';
import { NO_USAGE, type UsageVector } from '../providers/contract/usage';
import { haveSomePrice } from './priced-by-tokens';

/** An option of a request that a model does not support. */
interface Mismatch {
  readonly param: string;
  readonly message: string;
  /** The supported values, or the maximum. */
  readonly details?: { readonly allowed: readonly string[] } | { readonly maximum: number };
}

/**
 * Checks in the catalogue that the model supports the request, before the idempotency look-up and the hold.
 * @throws GatewayError `validation_failed` with `param`, and `details` with the supported values or the maximum
 */
export function assertCanSpeak(model: CatalogModel, request: SpeechRequest): void {
  const mismatch = findMismatch(model, request);
  if (mismatch === null) return;
  const { param, message, details } = mismatch;
  throw new GatewayError('validation_failed', message, { param, details });
}

/** The same check for a fallback model. */
export function canSpeak(model: CatalogModel, request: SpeechRequest): boolean {
  return findMismatch(model, request) === null;
}

/** A model without listed voices or formats accepts any: those of self-hosted servers are unknown. */
function findMismatch({ id, media, features }: CatalogModel, request: SpeechRequest): Mismatch | null {
  const { input, voice, format, speed, instructions } = request;
  const maximum = media?.max_characters;
  if (maximum !== undefined && countCodePoints(input) > maximum) {
    return { param: 'input', message: `${id} speaks at most ${maximum} characters.`, details: { maximum } };
  }
  if (media?.voices?.includes(voice) === false) {
    return { param: 'voice', message: `${id} does not have this voice.`, details: { allowed: media.voices } };
  }
  if (media?.formats?.includes(format) === false) {
    return {
      param: 'response_format',
      message: `${id} does not support this format.`,
      details: { allowed: media.formats },
    };
  }
  if (features.speed === false && speed !== null && speed !== 1) {
    return { param: 'speed', message: `${id} does not support speed.` };
  }
  if (features.instructions !== true && instructions !== null && instructions !== '') {
    return { param: 'instructions', message: `${id} does not support instructions.` };
  }
  return null;
}

/** Output tokens of token-priced models: 1,250 a minute. */
const TOKENS_PER_SECOND = 1_250 / 60;
/** Per alphabetic character, and per Chinese, Japanese or Korean one, which is a syllable or a word. */
const ALPHABETIC_SECONDS = 1 / 14;
const SYLLABIC_SECONDS = 1 / 4.5;
const FIRST_SYLLABIC = 0x2e80;

/** Usage in characters: Unicode code points of the text. */
export function characterUsage({ input }: SpeechRequest): UsageVector {
  return { ...NO_USAGE, characters: countCodePoints(input) };
}

/** Usage in characters and estimated tokens: the input text, and audio by the time it takes to speak the text. */
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

/** MiniMax bills each as two characters: https://platform.minimax.io/docs/guides/pricing-paygo */
const CHINESE = /\p{Script=Han}/gu;

/**
 * Characters for the hold, which caps what a vendor's bill may cost. Where one of these models is charged by the
 * vendor's own character count, characters that the vendor may count twice count twice.
 */
export function estimateCharacters({ input }: SpeechRequest, models: readonly CatalogModel[]): number {
  const isBilled = haveSomePrice(models, ({ unit }) => unit !== undefined);
  return countCodePoints(input) + (isBilled ? (input.match(CHINESE)?.length ?? 0) : 0);
}
