import { priceLines, priceTiers } from './model-price';

describe('the prices of a model', () => {
  it('name each token class with a rate, per million', () => {
    expect(priceLines({ tokens: { per_1m_micro: { input: 1, output: 2, cache_read: 3 } } })).toEqual([
      { label: 'Input', micro: 1, unit: '1M tokens' },
      { label: 'Output', micro: 2, unit: '1M tokens' },
      { label: 'Cached input', micro: 3, unit: '1M tokens' },
    ]);
  });

  it('describe rows by what distinguishes them', () => {
    const image = { rows: [{ size: '*', quality: 'low', per_image_micro: 1 }, { per_image_micro: 2 }] };
    expect(priceLines({ image }).map(({ label }) => label)).toEqual(['low', 'Image']);
    const video = {
      rows: [
        { resolution: '1080p', audio: true as const, per_second_micro: 3 },
        { resolution: '*', audio: '*' as const, per_second_micro: 4, min_seconds: 4 },
      ],
      per_job_micro: 5,
    };
    expect(priceLines({ video })).toEqual([
      { label: '1080p, with sound', micro: 3, unit: 'second' },
      { label: 'Video, at least 4 s', micro: 4, unit: 'second' },
      { label: 'Video', micro: 5, unit: 'job' },
    ]);
  });

  it('name the shortest recording that is charged', () => {
    expect(priceLines({ transcription: { per_minute_micro: 6, min_seconds: 10 } })).toEqual([
      { label: 'Recording, at least 10 s', micro: 6, unit: 'minute' },
    ]);
    expect(priceLines({ transcription: { per_minute_micro: 6 } })).toEqual([
      { label: 'Recording', micro: 6, unit: 'minute' },
    ]);
  });

  it('keep the tiers of long inputs apart', () => {
    const tokens = {
      per_1m_micro: { input: 1, output: 2 },
      tiers: [{ above_input_tokens: 200_000, per_1m_micro: { input: 3, output: 4 } }],
    };
    expect(priceTiers({ tokens })).toEqual([
      {
        aboveInputTokens: 200_000,
        lines: [
          { label: 'Input', micro: 3, unit: '1M tokens' },
          { label: 'Output', micro: 4, unit: '1M tokens' },
        ],
      },
    ]);
  });
});
