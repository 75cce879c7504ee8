import type { UsageAttempt, UsageLine } from '../../contract/dashboard';
import { attemptBars, lineLabel, lineQuantity, lineRate, usedOf, usedTokens } from './receipt';

const line = (
  unit: UsageLine['unit'],
  quantity: number | null,
  rate: number | null,
  per: number | null,
): UsageLine => ({
  unit,
  quantity,
  rate_micro: rate,
  per,
  cost_micro: 0,
});

it.each([
  [line('input_text', 1000, 2_500_000, 1_000_000), ['Input', '1,000 tokens', '$2.50 per 1M tokens']],
  [line('image', 1, 40_000, 1), ['Images', '1 image', '$0.04 per image']],
  [line('character', 12, 15_000, 1000), ['Spoken text', '12 characters', '$0.0150 per 1K characters']],
  [line('transcription_minute', 0.5, 6000, 1), ['Transcribed audio', '0.5 minutes', '$0.0060 per minute']],
  [line('uncollected', null, null, null), ['Not covered by the balance', '', '']],
])('explains the line %j', (given, expected) => {
  expect([lineLabel(given), lineQuantity(given), lineRate(given)]).toEqual(expected);
});

it('lists the classes of tokens that were used, each in singular or plural', () => {
  const none = {
    input_cache_read: 0,
    input_cache_write_5m: 0,
    input_cache_write_1h: 0,
    input_image: 0,
    input_audio: 0,
    output_reasoning: 0,
    output_image: 0,
    output_audio: 0,
  };
  expect(usedTokens({ ...none, input_text: 1, output_text: 1055 })).toEqual([
    ['Input', '1 token'],
    ['Output', '1,055 tokens'],
  ]);
});

describe('usedOf', () => {
  const nothing = {
    modality: 'text',
    input_tokens: 0,
    output_tokens: 0,
    images: 0,
    seconds: 0,
    characters: 0,
  } as const;

  it.each([
    [{}, ['', '']],
    [{ input_tokens: 1000, output_tokens: 5 }, ['1,000 → 5', 'tokens']],
    [{ modality: 'image', images: 1, input_tokens: 9 }, ['1', 'image']],
    [{ modality: 'video', seconds: 8 }, ['8', 'seconds']],
    [{ modality: 'music', seconds: 1 }, ['1', 'second']],
    [{ modality: 'speech', characters: 26 }, ['26', 'characters']],
    [{ modality: 'speech', characters: 1 }, ['1', 'character']],
  ] as const)('names what %j has used', (use, expected) => {
    expect(usedOf({ ...nothing, ...use })).toEqual(expected);
  });
});

it('places attempts on the time line of the request, or one after another', () => {
  const attempt = (number: number, durationMs: number, startedMs: number | null = null): UsageAttempt => ({
    number,
    provider: 'mock',
    deployment_id: 'd',
    outcome: 'success',
    started_ms: startedMs,
    duration_ms: durationMs,
  });
  const bars = (...attempts: UsageAttempt[]): number[][] =>
    attemptBars(attempts, 100).map(({ startPercent, lengthPercent }) => [startPercent, lengthPercent]);
  expect(bars(attempt(1, 10), attempt(2, 30))).toEqual([
    [0, 25],
    [25, 75],
  ]);
  expect(bars(attempt(1, 0))).toEqual([[0, 0]]);
  expect(bars(attempt(1, 10, 5), attempt(2, 30, 65))).toEqual([
    [5, 10],
    [65, 30],
  ]);
});
