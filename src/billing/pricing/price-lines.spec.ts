import * as fc from 'fast-check';
import type { Price } from '../../models/catalog-model';
import { NO_USAGE, type UsageVector } from '../../providers/contract/usage';
import { compilePrice } from './price';

const rate = fc.nat(90_000_000);
const optionalRate = fc.option(rate, { nil: undefined });
const count = fc.oneof(fc.constant(0), fc.nat(2_000_000));
const seconds = fc.oneof(fc.constant(0), fc.double({ min: 0.001, max: 5_000, noNaN: true }));

const billed = fc.option(fc.double({ min: 1e-6, max: 5_000_000, noNaN: true }), { nil: undefined });

const tokenRates = fc.record({
  input: rate,
  output: rate,
  cache_read: optionalRate,
  reasoning: optionalRate,
  audio_out: optionalRate,
});
const price: fc.Arbitrary<Price> = fc.record(
  {
    tokens: fc.record({
      per_1m_micro: tokenRates,
      tiers: fc.array(fc.record({ above_input_tokens: fc.nat(500_000), per_1m_micro: tokenRates }), { maxLength: 2 }),
    }),
    image: fc.record({ rows: fc.constantFrom([{ per_image_micro: 40_000 }], [{ size: '1x1', per_image_micro: 7 }]) }),
    video: fc.record({
      rows: fc.array(fc.record({ per_second_micro: rate, min_seconds: fc.nat(9) }), { minLength: 1, maxLength: 1 }),
      per_job_micro: rate,
    }),
    music: fc.record({ per_second_micro: optionalRate, per_job_micro: optionalRate }),
    speech: fc.record({ per_1k_chars_micro: rate }),
    transcription: fc.record({ per_minute_micro: rate, round_up_to_s: fc.constantFrom(0, 1, 15) }),
    request: fc.record({ per_request_micro: rate }),
    vendor_cost: fc.record({ per_usd_micro: rate }),
    unit: fc.record({ per_unit_micro: rate }),
    megapixel: fc.record({ per_megapixel_micro: rate }),
  },
  { requiredKeys: [] },
);
const usage: fc.Arbitrary<UsageVector> = fc
  .record({
    inputText: count,
    inputCacheRead: count,
    outputText: count,
    outputReasoning: count,
    outputAudio: count,
    images: fc.nat(10),
    seconds,
    characters: count,
    units: billed,
    megapixels: billed,
    vendorCostMicro: billed,
  })
  .map((some) => ({ ...NO_USAGE, ...some }));

describe('the lines of a price', () => {
  it('add up to the cost for any price and usage', () => {
    fc.assert(
      fc.property(price, usage, fc.boolean(), (anyPrice, used, estimate) => {
        const compiled = compilePrice(anyPrice);
        const lines = compiled.lines(used, { estimate });
        const cost = compiled.costMicro(used, { estimate });
        expect(lines?.reduce((sum, line) => sum + line.costMicro, 0n) ?? null).toBe(cost);
      }),
      { numRuns: 2_000 },
    );
  });

  it('contain the unit, the quantity and the rate', () => {
    const compiled = compilePrice({ tokens: { per_1m_micro: { input: 150_000, output: 600_000 } } });
    expect(compiled.lines({ ...NO_USAGE, inputText: 2_000_000, outputReasoning: 5 })).toEqual([
      { unit: 'inputText', quantity: 2_000_000, rateMicro: 150_000n, per: 1_000_000, costMicro: 300_000n },
      { unit: 'outputReasoning', quantity: 5, rateMicro: 600_000n, per: 1_000_000, costMicro: 3n },
    ]);
  });

  it('share one micro-unit when each costs less', () => {
    const compiled = compilePrice({ tokens: { per_1m_micro: { input: 150_000, output: 600_000 } } });
    const lines = compiled.lines({ ...NO_USAGE, inputText: 1, outputText: 1 });
    expect(lines?.map(({ costMicro }) => costMicro)).toEqual([1n, 0n]);
  });

  it('contain the charged seconds, not the produced ones', () => {
    const compiled = compilePrice({
      video: { rows: [{ per_second_micro: 100, min_seconds: 5 }], per_job_micro: 3 },
      transcription: { per_minute_micro: 60, round_up_to_s: 15 },
    });
    expect(compiled.lines({ ...NO_USAGE, seconds: 2 })).toEqual([
      { unit: 'video_second', quantity: 5, rateMicro: 100n, per: 1, costMicro: 500n },
      { unit: 'video_job', quantity: 1, rateMicro: 3n, per: 1, costMicro: 3n },
      { unit: 'transcription_minute', quantity: 0.25, rateMicro: 60n, per: 1, costMicro: 15n },
    ]);
  });

  it('contain what the vendor billed instead of what the gateway counted', () => {
    const rows = { image: { rows: [{ per_image_micro: 9 }] }, request: { per_request_micro: 1 } };
    const usage = { ...NO_USAGE, images: 2, units: 1.25, megapixels: 0.5, vendorCostMicro: 12.25 };
    const linesOf = (bill: Price) => compilePrice({ ...rows, ...bill }).lines(usage);
    expect(linesOf({ unit: { per_unit_micro: 25_000 } })).toEqual([
      { unit: 'vendor_unit', quantity: 1.25, rateMicro: 25_000n, per: 1, costMicro: 31_250n },
    ]);
    expect(linesOf({ megapixel: { per_megapixel_micro: 3 } })).toEqual([
      { unit: 'megapixel', quantity: 0.5, rateMicro: 3n, per: 1, costMicro: 2n },
    ]);
    expect(linesOf({ vendor_cost: { per_usd_micro: 1_000_000 } })).toEqual([
      { unit: 'vendor_cost_micro', quantity: 12.25, rateMicro: 1_000_000n, per: 1_000_000, costMicro: 13n },
    ]);
  });

  it('are null when the price has no row for the usage', () => {
    expect(
      compilePrice({ image: { rows: [{ size: '1x1', per_image_micro: 1 }] } }).lines({ ...NO_USAGE, images: 1 }),
    ).toBe(null);
  });
});
