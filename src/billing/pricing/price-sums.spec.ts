import * as fc from 'fast-check';
import type { Price } from '../../models/catalog-model';
import { NO_USAGE, type UsageVector } from '../../providers/contract/usage';
import { compilePrice, type PricedDetails } from './price';

/** A fraction of a micro-unit, exact. */
interface Amount {
  readonly of: bigint;
  readonly by: bigint;
}

/** A price of one kind with its usage and the expected cost. */
interface Line {
  readonly price: Price;
  readonly usage: Partial<UsageVector>;
  readonly details?: PricedDetails;
  readonly amount: Amount;
}

const rate = fc.integer({ min: 0, max: 1_000_000_000 });
const count = fc.integer({ min: 0, max: 10_000_000 });
const seconds = fc.integer({ min: 1, max: 86_400_000_000 }).map((microseconds) => microseconds / 1e6);
const microseconds = (value: number): bigint => BigInt(Math.round(value * 1e6));
const amount = (of: bigint, by: number): Amount => ({ of, by: BigInt(by) });
const times = (one: number, other: number): bigint => BigInt(one) * BigInt(other);

const tokens = fc
  .record({ input: rate, output: rate, image_in: rate, image_out: rate, audio_in: rate, n: count, m: count })
  .map(({ n, m, ...rates }): Line => ({
    price: { tokens: { per_1m_micro: rates } },
    usage: { inputText: n, inputImage: m, inputAudio: n, outputText: m, outputImage: n },
    amount: amount(
      times(n, rates.input) +
        times(m, rates.image_in) +
        times(n, rates.audio_in) +
        times(m, rates.output) +
        times(n, rates.image_out),
      1_000_000,
    ),
  }));
const image = fc
  .record({ rates: fc.array(rate, { minLength: 1, maxLength: 4 }), pick: fc.nat(), n: fc.integer({ min: 1, max: 10 }) })
  .map(({ rates, pick, n }): Line => {
    const row = pick % rates.length;
    return {
      price: { image: { rows: rates.map((each, index) => ({ size: `${index + 1}x1`, per_image_micro: each })) } },
      usage: { images: n },
      details: { size: `${row + 1}x1`, quality: 'hd' },
      amount: amount(times(n, rates[row] ?? 0), 1),
    };
  });
const speech = fc.record({ each: rate, n: count }).map(({ each, n }): Line => ({
  price: { speech: { per_1k_chars_micro: each } },
  usage: { characters: n },
  amount: amount(times(n, each), 1_000),
}));
const transcription = fc
  .record({
    each: rate,
    step: fc.integer({ min: 0, max: 60 }),
    least: fc.integer({ min: 1, max: 60 }),
    length: seconds,
  })
  .map(({ each, step, least, length }): Line => {
    const counted = microseconds(Math.max(length, least));
    const stepMicroseconds = BigInt(step) * 1_000_000n;
    const started = step === 0 ? 0n : (counted + stepMicroseconds - 1n) / stepMicroseconds;
    const billed = step === 0 ? counted : started * stepMicroseconds;
    return {
      price: {
        transcription: { per_minute_micro: each, ...(step > 0 && { round_up_to_s: step }), min_seconds: least },
      },
      usage: { seconds: length },
      amount: amount(billed * BigInt(each), 60_000_000),
    };
  });
const video = fc.record({ each: rate, job: rate, length: seconds }).map(({ each, job, length }): Line => ({
  price: { video: { rows: [{ resolution: '720p', per_second_micro: each }], per_job_micro: job } },
  usage: { seconds: length },
  details: { resolution: '720p' },
  amount: amount(microseconds(length) * BigInt(each) + BigInt(job) * 1_000_000n, 1_000_000),
}));
const music = fc.record({ each: rate, job: rate, length: seconds }).map(({ each, job, length }): Line => ({
  price: { music: { per_second_micro: each, per_job_micro: job } },
  usage: { seconds: length },
  amount: amount(microseconds(length) * BigInt(each) + BigInt(job) * 1_000_000n, 1_000_000),
}));
const request = rate.map((each): Line => ({
  price: { request: { per_request_micro: each } },
  usage: {},
  amount: amount(BigInt(each), 1),
}));

/** Combinations of prices for each kind of model; seconds belong to one medium. */
const bills = fc
  .tuple(
    fc.option(tokens),
    fc.option(request),
    fc.constantFrom(image, speech, transcription, video, music).chain((line) => line),
  )
  .map((lines) => lines.filter((line) => line !== null));

function costOf(lines: readonly Line[]): bigint | null {
  const price: Price = Object.assign({}, ...lines.map((line) => line.price));
  const usage: UsageVector = Object.assign({ ...NO_USAGE }, ...lines.map((line) => line.usage));
  const details: PricedDetails = Object.assign({}, ...lines.map((line) => line.details));
  return compilePrice(price).costMicro(usage, details);
}

const BY = 60_000_000_000n;

describe('the cost of any usage at any price', () => {
  it('is the exact sum of its lines, rounded up once', () => {
    fc.assert(
      fc.property(bills, (lines) => {
        const sum = lines.reduce((total, { amount: { of, by } }) => total + (of * BY) / by, 0n);
        const expected = sum / BY + (sum % BY === 0n ? 0n : 1n);
        // Without priced usage the cost is null rather than zero.
        expect(costOf(lines) ?? 0n).toBe(expected);
      }),
      { numRuns: 2_000 },
    );
  });

  it('is not null as soon as any unit has a price', () => {
    fc.assert(
      fc.property(bills, (lines) => {
        const isFree = lines.every(({ amount: { of } }) => of === 0n);
        expect((costOf(lines) ?? 0n) > 0n).toBe(!isFree);
      }),
      { numRuns: 2_000 },
    );
  });

  it('is at most one micro-unit per line below the sum of separately rounded lines, and never above', () => {
    fc.assert(
      fc.property(bills, (lines) => {
        const apart = lines.reduce((sum, line) => sum + (costOf([line]) ?? 0n), 0n);
        const together = costOf(lines) ?? 0n;
        expect(together <= apart).toBe(true);
        expect(apart - together <= BigInt(lines.length - 1)).toBe(true);
      }),
      { numRuns: 2_000 },
    );
  });

  it('is the same for hold and charge without estimate_only rows', () => {
    fc.assert(
      fc.property(image, fc.option(request), (line, fee) => {
        const lines = fee === null ? [line] : [line, fee];
        const estimated = lines.map((each) => ({ ...each, details: { ...each.details, estimate: true } }));
        expect(costOf(estimated)).toBe(costOf(lines));
      }),
    );
  });

  it('is estimated from estimate_only rows instead of image tokens, plus all other tokens', () => {
    fc.assert(
      fc.property(image, tokens, fc.boolean(), (drawn, read, only) => {
        const rows = drawn.price.image?.rows ?? [];
        const price: Price = { ...read.price, image: { rows, estimate_only: only } };
        const usage = { ...NO_USAGE, ...read.usage, ...drawn.usage };
        const estimate = compilePrice(price).costMicro(usage, { ...drawn.details, estimate: true });
        const counted = only ? { ...read.usage, outputImage: 0 } : read.usage;
        expect(estimate).toBe(costOf([{ ...read, usage: counted }, drawn]));
      }),
    );
  });
});
