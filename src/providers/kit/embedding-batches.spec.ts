import { setImmediate, setTimeout } from 'node:timers/promises';
import { providerCall, providerErrorOf } from '../../../test/conformance/provider-call';
import type { ProviderCall } from '../contract/provider-call';
import { NO_USAGE } from '../contract/usage';
import { embedBatches, toBatches } from './embedding-batches';

describe('toBatches', () => {
  it.each([
    ['no more inputs than allowed', ['a', 'b', 'c'], { inputs: 2 }, [['a', 'b'], ['c']]],
    ['one batch where all fit', ['a', 'b'], { inputs: 2, tokens: 2 }, [['a', 'b']]],
    [
      'no more estimated tokens than allowed',
      ['aaaa', 'bbbb', 'c'],
      { inputs: 9, tokens: 3 },
      [['aaaa'], ['bbbb', 'c']],
    ],
    [
      'too long an input by itself',
      ['a', 'b'.repeat(9), 'c'],
      { inputs: 9, tokens: 3 },
      [['a'], ['b'.repeat(9)], ['c']],
    ],
    ['token ids by their number', [[1, 2], [3], [4]], { inputs: 9, tokens: 3 }, [[[1, 2], [3]], [[4]]]],
  ])('makes batches of %s', (_what, inputs, limit, expected) => {
    expect(toBatches<string | number[]>(inputs, limit)).toEqual(expected);
  });
});

describe('embedBatches', () => {
  afterEach(() => jest.useRealTimers());

  it('makes at most eight concurrent calls, within the time limit of one, and joins their results in order', async () => {
    let [underWay, most] = [0, 0];
    const limits: number[] = [];
    const embed = async (batch: number, { deadlines }: ProviderCall) => {
      most = Math.max(most, ++underWay);
      limits.push(deadlines.totalMs);
      for (let wait = batch % 3; wait >= 0; wait--) await setImmediate();
      underWay--;
      return { vectors: [[batch]], usage: { ...NO_USAGE, inputText: 2 } };
    };
    const batches = Array.from({ length: 30 }, (_, at) => at);
    const { vectors, usage } = await embedBatches(batches, providerCall(), embed);
    expect([vectors, usage?.inputText, most]).toEqual([batches.map((batch) => [batch]), 60, 8]);
    expect(limits.at(-1)).toBeLessThan(limits[0] as number);
  });

  it('leaves the request to another deployment when together they take as long as a single call may', async () => {
    jest.useFakeTimers({ doNotFake: ['queueMicrotask', 'nextTick', 'setImmediate'] });
    const deadlines = { connectMs: 1_000, firstTokenMs: 10_000, idleMs: 1_000, totalMs: 60_000 };
    const limits: number[] = [];
    const embed = async (batch: number, call: ProviderCall) => {
      limits.push(call.deadlines.firstTokenMs);
      await setTimeout(6_000);
      return { vectors: [[batch]], usage: NO_USAGE };
    };
    // Three rounds, each of which is in time.
    const batches = Array.from({ length: 24 }, (_, at) => at);
    const failing = providerErrorOf(embedBatches(batches, providerCall({ deadlines }), embed));
    await jest.advanceTimersByTimeAsync(18_000);
    const { code, options } = await failing;
    expect([code, options.fallback, limits[0], limits.at(-1)]).toEqual(['provider_timeout', true, 10_000, 4_000]);
  });

  it('reports no usage when the usage of any call is unknown', async () => {
    const embed = (batch: number) => Promise.resolve({ vectors: [[1]], usage: batch === 1 ? null : NO_USAGE });
    expect((await embedBatches([0, 1, 2], providerCall(), embed)).usage).toBeNull();
  });
});
