import type { UsageAttempt, UsageLine, UsageReceipt, UsageRequest, UsageTokens } from '../../contract/dashboard';
import { countOf, formatCount } from './count';
import { formatMicro } from './money';

type Unit = UsageLine['unit'];

/** What a line charges, and the word for one of it after a rate. */
const UNITS: Readonly<Record<Unit, readonly [label: string, one: string]>> = {
  input_text: ['Input', 'token'],
  input_cache_read: ['Input read from cache', 'token'],
  input_cache_write_5m: ['Input written to cache, 5 minutes', 'token'],
  input_cache_write_1h: ['Input written to cache, 1 hour', 'token'],
  input_image: ['Input of images', 'token'],
  input_audio: ['Input of audio', 'token'],
  output_text: ['Output', 'token'],
  output_reasoning: ['Reasoning', 'token'],
  output_image: ['Output of images', 'token'],
  output_audio: ['Output of audio', 'token'],
  image: ['Images', 'image'],
  video_second: ['Video', 'second'],
  video_job: ['Video job', 'job'],
  music_second: ['Music', 'second'],
  music_job: ['Music job', 'job'],
  transcription_minute: ['Transcribed audio', 'minute'],
  character: ['Spoken text', 'character'],
  request: ['Request', 'request'],
  vendor_cost_micro: ['Cost billed by the provider', 'micro-dollar'],
  vendor_unit: ['Units billed by the provider', 'unit'],
  megapixel: ['Megapixels', 'megapixel'],
  uncollected: ['Not covered by the balance', ''],
  correction: ['Usage that is not charged', ''],
};

export function lineLabel({ unit }: UsageLine): string {
  return UNITS[unit][0];
}

/** `1,000 tokens`; empty for lines without a quantity. */
export function lineQuantity({ unit, quantity }: UsageLine): string {
  if (quantity === null) return '';
  const [, one] = UNITS[unit];
  return `${formatCount(quantity)} ${quantity === 1 ? one : `${one}s`}`;
}

/** `$2.50 per 1M tokens`, `$0.04 per image`. */
export function lineRate({ unit, rate_micro: rate, per }: UsageLine): string {
  if (rate === null || per === null) return '';
  const [, one] = UNITS[unit];
  return `${formatMicro(rate)} per ${per === 1 ? one : `${shortCount(per)} ${one}s`}`;
}

function shortCount(count: number): string {
  if (count % 1_000_000 === 0) return `${count / 1_000_000}M`;
  return count % 1000 === 0 ? `${count / 1000}K` : formatCount(count);
}

/** Classes of tokens that were used, for example `Input` and `1 token`. */
export function usedTokens(tokens: UsageTokens): ReadonlyArray<readonly [label: string, used: string]> {
  return (Object.entries(tokens) as [keyof UsageTokens, number][])
    .filter(([, count]) => count > 0)
    .map(([unit, count]) => [UNITS[unit][0], countOf(count, UNITS[unit][1])]);
}

type Use = Pick<UsageRequest, 'modality' | 'input_tokens' | 'output_tokens' | 'images' | 'seconds' | 'characters'>;

/** What a request used in the unit of its modality, for example `2` and `images`; empty if it used nothing. */
export function usedOf(use: Use): readonly [amount: string, unit: string] {
  const { modality, input_tokens: input, output_tokens: output, images, seconds, characters } = use;
  if (modality === 'image' && images > 0) return [formatCount(images), images === 1 ? 'image' : 'images'];
  if (seconds > 0) return [formatCount(seconds), seconds === 1 ? 'second' : 'seconds'];
  if (characters > 0) return [formatCount(characters), characters === 1 ? 'character' : 'characters'];
  return input === 0 && output === 0 ? ['', ''] : [`${formatCount(input)} → ${formatCount(output)}`, 'tokens'];
}

/** Where the bar of an attempt begins and how long it is, in percent of the time line. */
export interface AttemptBar {
  readonly attempt: UsageAttempt;
  readonly startPercent: number;
  readonly lengthPercent: number;
}

/** On the time line of the request; one after another if it is not known when they began. */
export function attemptBars(attempts: readonly UsageAttempt[], totalMs: number): readonly AttemptBar[] {
  const starts = attempts.map(({ started_ms: startedMs }) => startedMs);
  const known = starts.every((startedMs) => startedMs !== null);
  const begins = known ? starts : attempts.map((_, index) => attemptsMs(attempts.slice(0, index)));
  const ends = attempts.map(({ duration_ms: durationMs }, index) => (begins[index] ?? 0) + durationMs);
  const wholeMs = Math.max(...ends, known ? totalMs : 0, 1);
  return attempts.map((attempt, index) => ({
    attempt,
    startPercent: ((begins[index] ?? 0) / wholeMs) * 100,
    lengthPercent: (attempt.duration_ms / wholeMs) * 100,
  }));
}

export function attemptsMs(attempts: readonly UsageAttempt[]): number {
  return attempts.reduce((sum, { duration_ms: ms }) => sum + ms, 0);
}

/** How many calls failed before another deployment answered; 0 without such a fallback. */
export function fallbackCalls({
  attempts,
  attempt_count: count,
  status,
}: Pick<UsageReceipt, 'attempts' | 'attempt_count' | 'status'>): number {
  const answered = attempts.at(-1)?.deployment_id;
  const failed = new Set(attempts.slice(0, -1).map((attempt) => attempt.deployment_id));
  return status === 'success' && failed.size > 0 && !failed.has(answered ?? '') ? count - 1 : 0;
}
