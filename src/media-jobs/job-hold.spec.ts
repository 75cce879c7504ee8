import { compilePrice } from '../billing/pricing/price';
import type { Price } from '../models/catalog-model';
import { estimateJobMicro, holdForJob, jobCostMicro } from './job-hold';
import type { MusicSettings, VideoSettings } from './media-job.types';

const VIDEO: VideoSettings = { durationSeconds: 8, resolution: '720p', aspectRatio: '16:9', audio: false };
const MUSIC: MusicSettings = { durationSeconds: 30, format: 'mp3', sampleRate: null, instrumental: false };

const video = (rows: NonNullable<Price['video']>['rows'], perJob?: number) =>
  compilePrice({ video: { rows, ...(perJob !== undefined && { per_job_micro: perJob }) } });
const music = (price: NonNullable<Price['music']>) => compilePrice({ music: price });

describe('the cost of a job', () => {
  const price = video([
    { resolution: '1080p', audio: '*', per_second_micro: 4_000 },
    { resolution: '720p', audio: true, per_second_micro: 3_000 },
    { resolution: '720p', audio: false, per_second_micro: 2_000 },
  ]);

  it.each([
    [{ resolution: '720p', audio: false }, 16_000n],
    [{ resolution: '720p', audio: true }, 24_000n],
    [{ resolution: '1080p', audio: false }, 32_000n],
    [{ resolution: '1080p', audio: true }, 32_000n],
    [{ resolution: '480p', audio: false }, null],
    [{ resolution: null, audio: false }, null],
  ])('for %o uses the first matching price row', (settings, cost) => {
    expect(jobCostMicro(price, { ...VIDEO, ...settings }, 8)).toBe(cost);
  });

  it('charges the delivered seconds to the microsecond and rounds up once', () => {
    expect(jobCostMicro(video([{ per_second_micro: 3 }], 5), VIDEO, 5.041_667)).toBe(21n);
    expect(jobCostMicro(music({ per_second_micro: 500 }), MUSIC, 30.000_001)).toBe(15_001n);
    expect(jobCostMicro(music({ per_job_micro: 700 }), MUSIC, 30)).toBe(700n);
  });

  it('is estimated at the most expensive deployment of the route', () => {
    const cheap = video([{ per_second_micro: 1_000 }]);
    expect(estimateJobMicro([cheap, price], 'a/b', VIDEO)).toBe(16_000n);
    expect(estimateJobMicro([price, cheap], 'a/b', VIDEO)).toBe(16_000n);
  });

  it('throws model_not_found when a deployment has no price for the settings', () => {
    const silent = video([{ resolution: '4k', per_second_micro: 1_000 }]);
    expect(() => estimateJobMicro([price, silent], 'a/b', VIDEO)).toThrow(
      expect.objectContaining({ code: 'model_not_found' }),
    );
  });
});

describe('the hold of a job', () => {
  it.each([
    ['video', 1_000n, 1_500n],
    ['video', 1_001n, 1_502n],
    ['video', 1n, 2n],
    ['video', 0n, 0n],
    ['music', 1_001n, 1_001n],
  ] as const)('for %s of %p is %p', (kind, estimate, hold) => {
    expect(holdForJob(kind, estimate, null)).toEqual({ holdMicro: hold, maxCostMicro: hold });
  });

  it.each([
    ['video', 1_000n, 1_000n],
    ['video', 1_499n, 1_499n],
    ['video', 1_500n, 1_500n],
    ['video', 9_000n, 1_500n],
    ['music', 1_000n, 1_000n],
    ['music', 9_000n, 1_000n],
  ] as const)('for %s of 1,000 with a cap of %p is %p', (kind, cap, hold) => {
    expect(holdForJob(kind, 1_000n, cap)).toEqual({ holdMicro: hold, maxCostMicro: cap });
  });

  it.each(['video', 'music'] as const)('for %s is refused with a cap below the estimate', (kind) => {
    expect(() => holdForJob(kind, 1_000n, 999n)).toThrow(
      expect.objectContaining({
        code: 'validation_failed',
        param: 'max_cost_micro',
        details: { estimated_cost_micro: 1_000 },
      }),
    );
    expect(() => holdForJob(kind, 1n, 0n)).toThrow(expect.objectContaining({ param: 'max_cost_micro' }));
  });
});
