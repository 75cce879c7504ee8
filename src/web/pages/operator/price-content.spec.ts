import { amountsOf, conditionsOf, EMPTY_PRICES, withAmounts } from './price-content';

const TOKENS = {
  tokens: {
    per_1m_micro: { input: 3, output: 15, cache_read: 1 },
    tiers: [{ above_input_tokens: 200_000, per_1m_micro: { input: 6, output: 22 } }],
  },
};
const VIDEO = {
  video: {
    rows: [
      { resolution: '1080p', audio: true, per_second_micro: 4, min_seconds: 5 },
      { resolution: '*', audio: '*', per_second_micro: 2 },
    ],
    per_job_micro: 7,
  },
};

describe('the amounts of a price', () => {
  it('have a path, words and a unit, tiers and rows included', () => {
    const lines = (price: object) =>
      amountsOf({ ...price }).map(({ path, label, per, micro }) => `${path}: ${label} ${micro} per ${per}`);
    expect(lines(TOKENS)).toEqual([
      'tokens.per_1m_micro.input: Input 3 per 1M tokens',
      'tokens.per_1m_micro.output: Output 15 per 1M tokens',
      'tokens.per_1m_micro.cache_read: Cache read 1 per 1M tokens',
      'tokens.tiers.0.per_1m_micro.input: Input, above 200,000 input tokens 6 per 1M tokens',
      'tokens.tiers.0.per_1m_micro.output: Output, above 200,000 input tokens 22 per 1M tokens',
    ]);
    expect(lines(VIDEO)).toEqual([
      'video.rows.0.per_second_micro: Video, 1080p, with audio 4 per second',
      'video.rows.1.per_second_micro: Video, any 2 per second',
      'video.per_job_micro: Video 7 per job',
    ]);
    expect(conditionsOf(VIDEO)).toEqual(['At least 5 s of video.']);
    expect(conditionsOf({ transcription: { per_minute_micro: 1, round_up_to_s: 1, min_seconds: 10 } })).toEqual([
      'Rounded up to 1 s.',
      'At least 10 s of audio.',
    ]);
  });

  it('include the token classes without a rate on request', () => {
    const missing = amountsOf(TOKENS, true).filter(({ micro }) => micro === null);
    expect(missing).toHaveLength(9 + 10);
    expect(missing.every(({ required }) => !required)).toBe(true);
  });

  it('can be replaced, added and removed by path, while everything else stays', () => {
    const amounts = new Map<string, number | null>([
      ['tokens.per_1m_micro.input', 4],
      ['tokens.per_1m_micro.cache_read', null],
      ['tokens.per_1m_micro.reasoning', 9],
      ['tokens.tiers.0.per_1m_micro.output', 23],
    ]);
    expect(withAmounts(TOKENS, amounts)).toEqual({
      tokens: {
        per_1m_micro: { input: 4, output: 15, reasoning: 9 },
        tiers: [{ above_input_tokens: 200_000, per_1m_micro: { input: 6, output: 23 } }],
      },
    });
    expect(withAmounts(VIDEO, new Map([['video.rows.1.per_second_micro', 3]]))).toEqual({
      video: { ...VIDEO.video, rows: [VIDEO.video.rows[0], { ...VIDEO.video.rows[1], per_second_micro: 3 }] },
    });
  });

  it('are asked for in every modality, also without a price', () => {
    for (const price of Object.values(EMPTY_PRICES)) {
      expect(amountsOf(price).some(({ micro, required }) => micro === null && required)).toBe(true);
    }
  });
});
