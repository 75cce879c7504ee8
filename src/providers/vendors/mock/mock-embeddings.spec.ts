import { providerCall, providerErrorOf } from '../../../../test/conformance/provider-call';
import { systemClock } from '../../../core/time/clock';
import type { EmbeddingRequest, Vector } from '../../contract/embeddings';
import { MockEmbeddings } from './mock-embeddings';

const mock = new MockEmbeddings(systemClock);
const embed = (input: EmbeddingRequest['input'], fields: Partial<EmbeddingRequest> = {}, call = providerCall()) =>
  mock.embed({ model: 'mock/embed-1', input, ...fields }, call);

const dot = (left: Vector | undefined, right: Vector | undefined): number =>
  Array.from(left ?? []).reduce((sum, value, at) => sum + value * (right?.[at] ?? 0), 0);

describe('MockEmbeddings', () => {
  it('returns the same unit vector for the same text, alone or among others', async () => {
    const alone = await embed('The cat sat on the mat.');
    const among = await embed(['Something else', 'The cat sat on the mat.']);
    expect(among.vectors[1]).toEqual(alone.vectors[0]);
    expect(alone.vectors[0]).toHaveLength(1536);
    expect(dot(alone.vectors[0], alone.vectors[0])).toBeCloseTo(1, 5);
  });

  it('returns similar vectors for texts with common words', async () => {
    const { vectors } = await embed(['a black cat on a mat', 'the cat on the mat', 'quarterly tax figures']);
    expect(dot(vectors[0], vectors[1])).toBeGreaterThan(0.4);
    expect(Math.abs(dot(vectors[0], vectors[2]))).toBeLessThan(0.2);
  });

  it('makes vectors of the requested length, up to 1,536', async () => {
    const { vectors } = await embed(['a', '!?', ''], { dimensions: 1 });
    expect(vectors.map((vector) => [vector.length, Math.abs(vector[0] ?? 0)])).toEqual([
      [1, 1],
      [1, 1],
      [1, 1],
    ]);
    const error = await providerErrorOf(embed('a', { dimensions: 1537 }));
    expect([error.code, error.options.param]).toEqual(['validation_failed', 'dimensions']);
  });

  it('counts a quarter of the bytes, and token ids one by one', async () => {
    const counts = await Promise.all(
      [embed('12345'), embed(['1234', '1']), embed([7, 8, 9]), embed([[7], [8, 9]])].map(
        async (result) => (await result).usage?.inputText,
      ),
    );
    expect(counts).toEqual([2, 2, 3, 3]);
    const tokens = await embed([[7], [8, 9]]);
    expect(tokens.vectors).toHaveLength(2);
  });

  it('follows a directive in the first text', async () => {
    const error = await providerErrorOf(embed(['[[mock: status=429 retry_after=7]]', 'b']));
    expect([error.code, error.options.retryAfterSeconds]).toEqual(['provider_rate_limited', 7]);
    expect((await providerErrorOf(embed('[[mock: garbage]]'))).code).toBe('provider_error');
    expect((await providerErrorOf(embed('[[mock: nonsense]]'))).options.param).toBe('input');
    expect((await embed('[[mock: no_usage]]')).usage).toBeNull();
    expect((await embed('[[mock: usage_prompt=9]]')).usage?.inputText).toBe(9);
  });

  it('hangs until the deadline, and stops when the call is aborted', async () => {
    const deadlines = { connectMs: 5, firstTokenMs: 20, idleMs: 20, totalMs: 50 };
    const late = await providerErrorOf(embed('[[mock: hang]]', {}, providerCall({ deadlines })));
    expect(late.code).toBe('provider_timeout');
    const gone = new AbortController();
    const result = providerErrorOf(embed('[[mock: hang]]', {}, providerCall({ signal: gone.signal })));
    gone.abort();
    expect((await result).code).toBe('provider_disconnect');
  });
});
