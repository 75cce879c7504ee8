import * as fc from 'fast-check';
import { NO_USAGE } from '../contract/usage';
import { toUsageVector } from './usage';

describe('toUsageVector', () => {
  it('splits totals that contain their details into disjoint classes', () => {
    const usage = {
      prompt_tokens: 1000,
      completion_tokens: 500,
      prompt_tokens_details: { cached_tokens: 300, cache_write_tokens: 100, image_tokens: 50, audio_tokens: 10 },
      completion_tokens_details: { reasoning_tokens: 200, audio_tokens: 20 },
    };
    expect(toUsageVector(usage, {})).toEqual({
      ...NO_USAGE,
      inputText: 540,
      inputCacheRead: 300,
      inputCacheWrite5m: 100,
      inputImage: 50,
      inputAudio: 10,
      outputText: 280,
      outputReasoning: 200,
      outputAudio: 20,
    });
  });

  it.each([
    ['prompt_cache_hit_tokens', { prompt_cache_hit_tokens: 4 }],
    ['num_cached_tokens', { num_cached_tokens: 4 }],
    ['cached_tokens', { cached_tokens: 4 }],
    ['cache_read_input_tokens', { prompt_tokens_details: { cache_read_input_tokens: 4 } }],
  ])('finds cached tokens under %s', (_name, extra) => {
    expect(toUsageVector({ prompt_tokens: 10, completion_tokens: 1, ...extra }, {})).toMatchObject({
      inputText: 6,
      inputCacheRead: 4,
    });
  });

  it('finds cache writes under cache_creation_input_tokens', () => {
    const details = { cache_creation_input_tokens: 6, cache_type: 'ephemeral', cached_tokens: 0 };
    expect(
      toUsageVector({ prompt_tokens: 10, completion_tokens: 1, prompt_tokens_details: details }, {}),
    ).toMatchObject({
      inputText: 4,
      inputCacheRead: 0,
      inputCacheWrite5m: 6,
    });
  });

  it('treats a prompt count below its cached count as excluding the cache', () => {
    const usage = { prompt_tokens: 10, completion_tokens: 0, prompt_tokens_details: { cached_tokens: 90 } };
    expect(toUsageVector(usage, {})).toMatchObject({ inputText: 10, inputCacheRead: 90 });
  });

  it('adds reasoning tokens that the upstream excludes', () => {
    const usage = { prompt_tokens: 1, completion_tokens: 5, completion_tokens_details: { reasoning_tokens: 70 } };
    expect(toUsageVector(usage, { reasoningExcluded: true })).toMatchObject({ outputText: 5, outputReasoning: 70 });
    expect(toUsageVector(usage, {})).toMatchObject({ outputText: 0, outputReasoning: 5 });
  });

  it.each([
    null,
    undefined,
    [],
    'text',
    {},
    { prompt_tokens: -1, completion_tokens: 5 },
    { prompt_tokens: 5, completion_tokens: -1 },
    { prompt_tokens: '12', completion_tokens: 3 },
    { prompt_tokens: Number.NaN, completion_tokens: 3 },
  ])('rejects implausible usage %j', (usage) => {
    expect(toUsageVector(usage, {})).toBeNull();
  });

  it('treats a missing completion count as zero', () => {
    expect(toUsageVector({ prompt_tokens: 7 }, {})).toEqual({ ...NO_USAGE, inputText: 7 });
  });

  it('returns integers from 0 to a billion for any JSON, and keeps plausible totals', () => {
    const details = fc.record(
      {
        cached_tokens: fc.anything(),
        cache_write_tokens: fc.integer(),
        image_tokens: fc.double(),
        audio_tokens: fc.integer(),
      },
      { requiredKeys: [] },
    );
    const usages = fc.record({
      prompt_tokens: fc.oneof(fc.nat(), fc.double()),
      completion_tokens: fc.oneof(fc.nat(), fc.double()),
      prompt_tokens_details: details,
      completion_tokens_details: fc.record({ reasoning_tokens: fc.anything(), audio_tokens: fc.double() }),
    });
    fc.assert(
      fc.property(usages, (usage) => {
        const vector = toUsageVector(usage, {});
        if (vector === null) return;
        for (const count of Object.values(vector)) {
          expect(Number.isInteger(count) && count >= 0 && count <= 1_000_000_000).toBe(true);
        }
        const output = vector.outputText + vector.outputReasoning + vector.outputAudio + vector.outputImage;
        expect(output === Math.min(Math.trunc(usage.completion_tokens), 1_000_000_000)).toBe(true);
      }),
    );
  });
});
