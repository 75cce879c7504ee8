import { ImageMemory } from './image-memory';

const memoryOf = (maxBufferedBytes: number) => new ImageMemory({ http: { maxBufferedBytes } as never });

describe('ImageMemory', () => {
  it('limits an organization to what is free then, and submissions to half for four copies of their images', () => {
    const memory = memoryOf(100);
    const first = memory.claimForSubmission('a', 10);
    expect(first).not.toBeNull();
    expect(memory.claimForSubmission('a', 10)).toBeNull();
    const other = memory.claimForSubmission('b', 1_000);
    expect(other).not.toBeNull();
    expect(memory.claimForSubmission('c', 3)).toBeNull();
    first?.release();
    expect(memory.claimForSubmission('a', 10)).not.toBeNull();
  });

  it('lets a download grow beyond the limit while it is alone, and refuses it otherwise', () => {
    const memory = memoryOf(100);
    const alone = memory.claimForDownload('a');
    alone.growBy(90);
    alone.growBy(90);
    const second = memory.claimForDownload('b');
    expect(() => second.growBy(1)).toThrow('The worker holds too many images.');
    expect([alone.isExhausted, second.isExhausted]).toEqual([false, true]);
    alone.release();
    second.growBy(150);
  });
});
