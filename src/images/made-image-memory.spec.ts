import { Metrics } from '../core/observability/metrics/catalogue';
import type { RequestMemory } from '../core/types/request-context';
import { MadeImageMemory } from './made-image-memory';

describe('the memory of images from providers', () => {
  let memory: MadeImageMemory;
  beforeEach(() => {
    memory = new MadeImageMemory({ http: { maxBufferedBytes: 700 } as never }, new Metrics());
  });

  /** Counts an image of a new request, which the returned function ends. */
  function add(bytes: number, organizationId: string): () => void {
    let end = (): void => {};
    const request: RequestMemory = { growBy: () => {}, onEnd: (listener) => (end = listener) };
    memory.add(bytes, organizationId, request);
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

  it('has room for an organization while as much is free as its images and their base64 take', () => {
    const end = add(150, 'a');
    expect(answer('a')).toBe('room');
    add(1, 'a');
    expect(answer('a')).toBe('service_unavailable');
    end();
    expect(answer('a')).toBe('room');
  });

  it('always has room for an organization that holds nothing', () => {
    add(1_000, 'a');
    expect(answer('b')).toBe('room');
    add(1, 'b');
    expect(answer('b')).toBe('service_unavailable');
  });
});
