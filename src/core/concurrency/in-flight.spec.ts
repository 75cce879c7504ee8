import { InFlight } from './in-flight';

describe('InFlight', () => {
  it('is idle immediately when nothing is in flight', async () => {
    const work = new InFlight();
    work.begin();
    work.end();
    expect(await work.whenIdle(60_000)).toBe(true);
  });

  it('is idle when the last task has ended', async () => {
    const work = new InFlight();
    work.begin();
    work.begin();
    let idle = false;
    const waiting = work.whenIdle(60_000).then((result) => (idle = result));
    work.end();
    await Promise.resolve();
    expect(idle).toBe(false);
    work.end();
    expect(await waiting).toBe(true);
  });

  it('returns false after the timeout', async () => {
    const work = new InFlight();
    work.begin();
    expect(await work.whenIdle(1)).toBe(false);
  });
});
