import { InFlight } from './in-flight';

describe('InFlight', () => {
  it('is idle at once when nothing is under way', async () => {
    const work = new InFlight();
    work.begin();
    work.end();
    expect(await work.whenIdle(60_000)).toBe(true);
  });

  it('is idle when the last piece of work has ended', async () => {
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

  it('gives up after its time', async () => {
    const work = new InFlight();
    work.begin();
    expect(await work.whenIdle(1)).toBe(false);
  });
});
