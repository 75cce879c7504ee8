import { Metrics } from '../observability/metrics/catalogue';
import type { RequestMemory } from '../types/request-context';
import { ResponseMemory } from './response-memory';

describe('the memory of responses', () => {
  let memory: ResponseMemory;
  beforeEach(() => {
    memory = new ResponseMemory({ http: { maxBufferedBytes: 300 } as never }, new Metrics());
  });

  /** Counts the response of a new request, which the returned function ends. */
  async function add(bytes: number, organizationId: string): Promise<() => void> {
    let end = (): void => {};
    const request: RequestMemory = { growBy: () => {}, onEnd: (listener) => (end = listener) };
    await memory.during(bytes, organizationId, request, () => Promise.resolve());
    return () => end();
  }

  const answer = (organizationId: string): string => {
    try {
      memory.assertRoom(organizationId);
      return 'room';
    } catch (error) {
      return (error as Error & { code: string }).code;
    }
  };

  it('has room for an organization while at least as much is free as its responses take', async () => {
    const end = await add(150, 'a');
    expect(answer('a')).toBe('room');
    await add(1, 'a');
    expect(answer('a')).toBe('service_unavailable');
    end();
    expect(answer('a')).toBe('room');
  });

  it('always has room for an organization that holds nothing', async () => {
    await add(1_000, 'a');
    expect(answer('b')).toBe('room');
    await add(1, 'b');
    expect(answer('b')).toBe('service_unavailable');
  });

  it.each(['is stored', 'could not be stored'])(
    'counts a response until its image %s when the memory of its request ends before',
    async (outcome) => {
      const ended: RequestMemory = { growBy: () => {}, onEnd: (listener) => listener() };
      const { promise: stored, resolve, reject } = Promise.withResolvers<void>();
      const delivered = memory.during(1_000, 'a', ended, () => stored).catch((error: unknown) => error);
      expect(answer('a')).toBe('service_unavailable');
      const failure = new Error('no space');
      if (outcome === 'is stored') resolve();
      else reject(failure);
      expect(await delivered).toBe(outcome === 'is stored' ? undefined : failure);
      expect(answer('a')).toBe('room');
    },
  );
});
