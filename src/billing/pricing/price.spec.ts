import * as fc from 'fast-check';
import type { Price } from '../../models/catalog-model';
import { NO_USAGE, type UsageVector } from '../../providers/contract/usage';
import { compilePrice, type PricedDetails, sanitizeUsage } from './price';

function cost(price: Price, usage: Partial<UsageVector>, details?: PricedDetails): bigint | null {
  return compilePrice(price).costMicro({ ...NO_USAGE, ...usage }, details);
}

describe('the cost of tokens', () => {
  const price: Price = { tokens: { per_1m_micro: { input: 150_000, output: 600_000 } } };

  it('is rounded up once, after summing all classes', () => {
    expect(cost(price, { inputText: 1 })).toBe(1n);
    // 0.15 + 0.6 of a micro-unit: 1 and not 2.
    expect(cost(price, { inputText: 1, outputText: 1 })).toBe(1n);
    expect(cost(price, { inputText: 1_000_000, outputText: 1_000_000 })).toBe(750_000n);
    expect(cost(price, { inputText: 1_000_001 })).toBe(150_001n);
  });

  it('is zero for no tokens', () => {
    expect(cost(price, {})).toBe(0n);
  });

  it.each([
    ['inputCacheRead', 150_000n],
    ['inputCacheWrite5m', 150_000n],
    ['inputCacheWrite1h', 150_000n],
    ['inputImage', 150_000n],
    ['inputAudio', 150_000n],
    ['outputReasoning', 600_000n],
    ['outputImage', 600_000n],
    ['outputAudio', 600_000n],
  ] as const)('charges %s like its parent class when it has no rate', (tokenClass, expected) => {
    expect(cost(price, { [tokenClass]: 1_000_000 })).toBe(expected);
  });

  it('charges a long cache write without a rate like a short one, which costs more than plain input', () => {
    const tokens = { per_1m_micro: { input: 150_000, cache_write_5m: 187_500, output: 600_000 } };
    expect(cost({ tokens }, { inputCacheWrite1h: 1_000_000 })).toBe(187_500n);
  });

  it('uses the rate of each class that has one', () => {
    const rates = {
      input: 1,
      output: 2,
      cache_read: 3,
      cache_write_5m: 5,
      cache_write_1h: 7,
      reasoning: 11,
      image_in: 13,
      image_out: 17,
      audio_in: 19,
      audio_out: 23,
    };
    const million = 1_000_000;
    const usage = {
      inputText: million,
      outputText: 2 * million,
      inputCacheRead: 3 * million,
      inputCacheWrite5m: 5 * million,
      inputCacheWrite1h: 7 * million,
      outputReasoning: 11 * million,
      inputImage: 13 * million,
      outputImage: 17 * million,
      inputAudio: 19 * million,
      outputAudio: 23 * million,
    };
    const expected = 1 + 4 + 9 + 25 + 49 + 121 + 169 + 289 + 361 + 529;
    expect(cost({ tokens: { per_1m_micro: rates } }, usage)).toBe(BigInt(expected));
  });

  it('stays exact far beyond the precision of a double', () => {
    const expensive: Price = { tokens: { per_1m_micro: { input: 999_999_999, output: 0 } } };
    expect(cost(expensive, { inputText: 2 ** 31 - 1 })).toBe(2_147_483_644_853n);
  });

  it('equals the plain formula for any usage', () => {
    const count = fc.nat(2 ** 31);
    fc.assert(
      fc.property(fc.nat(10 ** 9), fc.nat(10 ** 9), count, count, count, (input, output, text, cached, generated) => {
        const sum = (BigInt(text) + BigInt(cached)) * BigInt(input) + BigInt(generated) * BigInt(output);
        const usage = { inputText: text, inputCacheRead: cached, outputText: generated };
        expect(cost({ tokens: { per_1m_micro: { input, output } } }, usage)).toBe((sum + 999_999n) / 1_000_000n);
      }),
    );
  });
});

describe('tiers', () => {
  const price: Price = {
    tokens: {
      per_1m_micro: { input: 1_000_000, output: 2_000_000 },
      tiers: [
        { above_input_tokens: 100, per_1m_micro: { input: 3_000_000, output: 4_000_000 } },
        { above_input_tokens: 1_000, per_1m_micro: { input: 5_000_000, output: 6_000_000, cache_read: 0 } },
      ],
    },
  };

  it('apply strictly above their threshold, and to the whole request', () => {
    expect(cost(price, { inputText: 100, outputText: 10 })).toBe(120n);
    expect(cost(price, { inputText: 101, outputText: 10 })).toBe(343n);
    expect(cost(price, { inputText: 1_000 })).toBe(3_000n);
    expect(cost(price, { inputText: 1_001 })).toBe(5_005n);
  });

  it('count every kind of input', () => {
    expect(cost(price, { inputText: 1, inputCacheRead: 1_000 })).toBe(5n);
    expect(cost(price, { inputText: 50, inputImage: 25, inputAudio: 26 })).toBe(303n);
    expect(cost(price, { outputText: 5_000 })).toBe(10_000n);
  });
});

describe('the cost of media', () => {
  it('counts characters of speech by the thousand', () => {
    const price: Price = { speech: { per_1k_chars_micro: 15_000 } };
    expect(cost(price, { characters: 1 })).toBe(15n);
    expect(cost(price, { characters: 1_234 })).toBe(18_510n);
  });

  it('counts transcribed seconds, rounded up to the step', () => {
    expect(cost({ transcription: { per_minute_micro: 6_000 } }, { seconds: 1.1 })).toBe(110n);
    expect(cost({ transcription: { per_minute_micro: 6_000, round_up_to_s: 1 } }, { seconds: 1.1 })).toBe(200n);
    expect(cost({ transcription: { per_minute_micro: 6_000, round_up_to_s: 60 } }, { seconds: 60 })).toBe(6_000n);
    expect(cost({ transcription: { per_minute_micro: 6_000, round_up_to_s: 60 } }, { seconds: 60.01 })).toBe(12_000n);
  });

  it('counts a shorter recording as the shortest that is billed', () => {
    const transcription = { per_minute_micro: 6_000, round_up_to_s: 1, min_seconds: 10 };
    expect(cost({ transcription }, { seconds: 0.4 })).toBe(1_000n);
    expect(cost({ transcription }, { seconds: 10 })).toBe(1_000n);
    expect(cost({ transcription }, { seconds: 10.1 })).toBe(1_100n);
    expect(cost({ transcription: { per_minute_micro: 6_000, min_seconds: 10 } }, { seconds: 3 })).toBe(1_000n);
  });

  it('adds the fee of the request', () => {
    const tokens = { per_1m_micro: { input: 1, output: 1 } };
    expect(cost({ tokens, request: { per_request_micro: 500 } }, { inputText: 1 })).toBe(501n);
    expect(cost({ request: { per_request_micro: 500 } }, { inputText: 1 })).toBe(500n);
  });

  it('takes the first row that matches size and quality', () => {
    const price: Price = {
      image: {
        rows: [
          { size: '1024x1024', quality: 'hd', per_image_micro: 80_000 },
          { size: '1024x1024', per_image_micro: 40_000 },
          { size: '*', quality: 'low', per_image_micro: 10_000 },
        ],
      },
    };
    expect(cost(price, { images: 2 }, { size: '1024x1024', quality: 'hd' })).toBe(160_000n);
    expect(cost(price, { images: 1 }, { size: '1024x1024', quality: 'standard' })).toBe(40_000n);
    expect(cost(price, { images: 1 }, { size: '512x512', quality: 'low' })).toBe(10_000n);
    expect(cost(price, { images: 1 }, { size: '512x512', quality: 'high' })).toBeNull();
    expect(cost(price, { images: 1 })).toBeNull();
  });

  it('uses estimate_only rows for estimates, and tokens for the charge', () => {
    const price: Price = {
      tokens: { per_1m_micro: { input: 5_000_000, output: 40_000_000 } },
      image: { rows: [{ per_image_micro: 50_000 }], estimate_only: true },
    };
    expect(cost(price, { images: 2 }, { estimate: true })).toBe(100_000n);
    expect(cost(price, { images: 2, inputText: 10, outputImage: 1_000 })).toBe(40_050n);
  });

  it('adds image rows and image tokens in estimates, as the charge does', () => {
    const price: Price = {
      tokens: { per_1m_micro: { input: 5_000_000, output: 40_000_000 } },
      image: { rows: [{ per_image_micro: 50_000 }] },
    };
    const usage = { images: 2, inputText: 10, outputImage: 1_000 };
    expect([cost(price, usage, { estimate: true }), cost(price, usage)]).toEqual([140_050n, 140_050n]);
  });

  it('prices a video by resolution, audio and seconds, with minimum and job fee', () => {
    const price: Price = {
      video: {
        rows: [
          { resolution: '720p', audio: false, per_second_micro: 100_000, min_seconds: 4 },
          { resolution: '*', audio: '*', per_second_micro: 150_000 },
        ],
        per_job_micro: 7,
      },
    };
    expect(cost(price, { seconds: 2.5 }, { resolution: '720p' })).toBe(400_007n);
    expect(cost(price, { seconds: 8 }, { resolution: '720p', audio: false })).toBe(800_007n);
    expect(cost(price, { seconds: 8 }, { resolution: '720p', audio: true })).toBe(1_200_007n);
  });

  it('prices music by the second, by the job, or both', () => {
    expect(cost({ music: { per_second_micro: 500 } }, { seconds: 30.5 })).toBe(15_250n);
    expect(cost({ music: { per_job_micro: 150_000 } }, { seconds: 30.5 })).toBe(150_000n);
    expect(cost({ music: { per_second_micro: 500, per_job_micro: 1 } }, { seconds: 2 })).toBe(1_001n);
  });
});

describe('a price without a row for the usage', () => {
  it.each<[string, Price, Partial<UsageVector>]>([
    ['an empty price', {}, { inputText: 1 }],
    ['an empty price and no usage', {}, {}],
    ['characters at a price of tokens for media', { music: { per_job_micro: 5 } }, { characters: 5 }],
    ['tokens at a price of speech', { speech: { per_1k_chars_micro: 5 } }, { inputText: 5 }],
    ['an image at a price of seconds', { transcription: { per_minute_micro: 5 } }, { images: 1 }],
    [
      'a bill at a price that only estimates',
      { image: { rows: [{ per_image_micro: 5 }], estimate_only: true } },
      { images: 1 },
    ],
  ])('returns null for %s', (_name, price, usage) => {
    expect(cost(price, usage)).toBeNull();
  });

  it('differs from a rate of zero', () => {
    expect(cost({ tokens: { per_1m_micro: { input: 0, output: 0 } } }, { inputText: 9 })).toBe(0n);
    expect(cost({ image: { rows: [{ per_image_micro: 0 }] } }, { images: 1 })).toBe(0n);
  });
});

describe('sanitizeUsage', () => {
  it('returns the same object when the usage is valid', () => {
    const usage = { ...NO_USAGE, inputText: 12, outputText: 2 ** 31, seconds: 1.25 };
    expect(sanitizeUsage(usage)).toBe(usage);
  });

  it.each([
    [-5, 0],
    [Number.NaN, 0],
    [Number.POSITIVE_INFINITY, 0],
    [Number.NEGATIVE_INFINITY, 0],
    [1.2, 2],
    [1e300, 2 ** 31],
    ['17' as unknown as number, 0],
    [undefined as unknown as number, 0],
    [null as unknown as number, 0],
  ])('corrects a count of %p to %p', (reported, expected) => {
    for (const field of ['inputText', 'outputReasoning', 'images', 'characters'] as const) {
      expect(sanitizeUsage({ ...NO_USAGE, outputText: 3, [field]: reported })).toEqual({
        ...NO_USAGE,
        outputText: 3,
        [field]: expected,
      });
    }
  });

  it.each([-1, 0, Number.NaN, Number.POSITIVE_INFINITY, 1e12])("removes a vendor's bill of %p", (amount) => {
    const bill = { units: amount, megapixels: amount, vendorCostMicro: amount };
    expect(sanitizeUsage({ ...NO_USAGE, images: 1, ...bill })).toEqual({ ...NO_USAGE, images: 1 });
  });

  it('keeps fractions of seconds but not of tokens', () => {
    const usage = { ...NO_USAGE, inputText: 0.5, seconds: 2.5 };
    expect(sanitizeUsage(usage)).toEqual({ ...NO_USAGE, inputText: 1, seconds: 2.5 });
    expect(sanitizeUsage({ ...usage, seconds: -2.5 }).seconds).toBe(0);
    expect(sanitizeUsage({ ...usage, seconds: 1e12 }).seconds).toBe(2 ** 31);
  });
});
