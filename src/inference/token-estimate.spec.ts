import { Logger } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { NO_USAGE, type UsageVector } from '../providers/contract/usage';
import { measureMessages, type PromptMeasure, TokenRatios } from './token-estimate';

Logger.overrideLogger(false);

/** A Redis hash shared by several processes. */
class FakeRedis {
  readonly hash: Record<string, string> = {};
  unavailable = false;

  async hgetall(): Promise<Record<string, string>> {
    if (this.unavailable) throw new Error('unavailable');
    return { ...this.hash };
  }

  async hset(_key: string, fields: Record<string, string>): Promise<number> {
    Object.assign(this.hash, fields);
    return 0;
  }

  async expire(): Promise<number> {
    return 1;
  }
}

const model = { id: 'vendor/model', tokensPerByte: 0.25 };
const tokens = (inputText: number): UsageVector => ({ ...NO_USAGE, inputText });
const text = (textBytes: number, fixedTokens = 0) => ({ textBytes, fixedTokens });
const start = (redis = new FakeRedis()): TokenRatios => new TokenRatios(redis as unknown as Redis);

const learn = (ratios: TokenRatios, ratio: number, times: number): void => {
  for (let time = 0; time < times; time++) ratios.observe(model, text(10_000), tokens(10_000 * ratio));
};

describe('a prompt with a marker of a cache', () => {
  const control = (ttl?: string) => ({ cache_control: { type: 'ephemeral', ttl } });

  it.each<[string, object]>([
    ['text', { type: 'text', text: 'a' }],
    ['an image', { type: 'image_url', image_url: { url: 'https://a.example/a.png' } }],
    ['a file', { type: 'file', file: { file_data: 'data:application/pdf;base64,YQ==' } }],
  ])('is measured as a cache write up to %s', (_name, part) => {
    const writeOf = (marked: object): PromptMeasure['cacheWrite'] => {
      const measure: PromptMeasure = { textBytes: 0, fixedTokens: 0 };
      measureMessages([{ role: 'user', content: [{ ...part, ...marked }] }], measure);
      return measure.cacheWrite;
    };
    expect([writeOf({}), writeOf(control()), writeOf(control('1h'))]).toEqual([undefined, 'short', 'long']);
    const breakpoint = (ttl?: string) => writeOf({ prompt_cache_breakpoint: { mode: 'explicit', ttl } });
    expect([breakpoint(), breakpoint('30m'), breakpoint('12h')]).toEqual([undefined, undefined, 'long']);
  });
});

describe('the ratio of a model', () => {
  it('starts at the catalogue value', () => {
    expect(start().of(model)).toBe(0.25);
  });

  it('moves by a fiftieth of the difference with each prompt', () => {
    const ratios = start();
    ratios.observe(model, text(4_000, 100), tokens(1_500));
    expect(ratios.of(model)).toBeCloseTo(0.25 + 0.02 * (0.35 - 0.25), 10);
  });

  it('converges to the reported ratio, separately for each model', () => {
    const ratios = start();
    learn(ratios, 0.33, 300);
    expect(ratios.of(model)).toBeCloseTo(0.33, 3);
    expect(ratios.of({ ...model, id: 'vendor/other' })).toBe(0.25);
  });

  it('stays within the bounds of real tokenizers for any reported usage', () => {
    const ratios = start();
    learn(ratios, 1_000, 1_000);
    expect(ratios.of(model)).toBeCloseTo(0.6, 3);
    learn(ratios, 0, 1_000);
    expect(ratios.of(model)).toBeCloseTo(0.12, 3);
  });

  it.each([
    ['a short prompt', text(1_023), tokens(900)],
    ['a prompt that is mostly images', text(2_000, 2_000), tokens(4_000)],
    ['a prompt without text', text(0, 50), tokens(50)],
  ])('learns nothing from %s', (_case, prompt, reported) => {
    const ratios = start();
    ratios.observe(model, prompt, reported);
    expect(ratios.of(model)).toBe(0.25);
  });

  it('resets when the catalogue value changes', () => {
    const ratios = start();
    learn(ratios, 0.5, 500);
    expect(ratios.of({ ...model, tokensPerByte: 0.3 })).toBe(0.3);
  });
});

describe('processes that share a Redis', () => {
  it('pass learned ratios to processes that start later, even if these have served requests', async () => {
    const redis = new FakeRedis();
    const first = start(redis);
    learn(first, 0.4, 500);
    await first.share();
    const second = start(redis);
    await second.share();
    expect(second.of(model)).toBeCloseTo(0.4, 3);
    const early = start(redis);
    expect(early.of(model)).toBe(0.25);
    await early.share();
    expect(early.of(model)).toBeCloseTo(0.4, 3);
  });

  it('converge to the reported ratio when they see the same traffic', async () => {
    const redis = new FakeRedis();
    const all = Array.from({ length: 8 }, () => start(redis));
    for (let minute = 0; minute < 12; minute++) {
      for (const ratios of all) learn(ratios, 0.4, 200);
      for (const ratios of all) await ratios.share();
    }
    for (const ratios of all) expect(ratios.of(model)).toBeCloseTo(0.4, 3);
  });

  it('average their ratios when they see different traffic', async () => {
    const redis = new FakeRedis();
    const [left, right] = [start(redis), start(redis)];
    learn(left, 0.2, 500);
    learn(right, 0.4, 500);
    await left.share();
    await right.share();
    await left.share();
    expect(right.of(model)).toBeCloseTo(0.3, 3);
    expect(left.of(model)).toBeCloseTo(0.3, 3);
  });

  it.each(['0', '17', 'NaN', ''])('ignore a stored ratio of %j', async (stored) => {
    const redis = new FakeRedis();
    redis.hash['vendor/model 0.25'] = stored;
    const ratios = start(redis);
    await ratios.share();
    expect(ratios.of(model)).toBe(0.25);
  });

  it('keep learned ratios while Redis is unavailable, and start without it', async () => {
    const redis = new FakeRedis();
    const ratios = start(redis);
    learn(ratios, 0.5, 500);
    redis.unavailable = true;
    await ratios.onApplicationBootstrap();
    expect(ratios.of(model)).toBeCloseTo(0.5, 3);
    redis.unavailable = false;
    await ratios.beforeApplicationShutdown();
    expect(Number(redis.hash['vendor/model 0.25'])).toBeCloseTo(0.5, 3);
  });
});
