import type { PriceVersion } from '../../../contract/dashboard';
import { isEndable, isWithdrawable, timelineOf } from './price-timeline';

const NOW = Date.parse('2026-06-15T12:00:00Z');
const PRICE = { speech: { per_1k_chars_micro: 1 } };

let created = 0;
const version = (fields: Partial<PriceVersion>): PriceVersion => ({
  object: 'price_version',
  id: `price-${++created}`,
  model: 'a/b',
  deployment_id: null,
  effective_from: '2026-01-01T00:00:00Z',
  effective_to: null,
  revision: 1,
  source: 'operator',
  reference: null,
  price: PRICE,
  created_at: '2026-01-01T00:00:00Z',
  ...fields,
});
const statesOf = (...versions: PriceVersion[]): string[] =>
  timelineOf(versions, null, NOW).map(
    ({ version: { effective_from: from }, state }) => `${from.slice(0, 10)} ${state}`,
  );

describe('the timeline of prices', () => {
  it('has the price in force, planned ones before it and ended ones after it', () => {
    expect(
      statesOf(
        version({ effective_from: '2025-01-01T00:00:00Z', effective_to: '2025-02-01T00:00:00Z' }),
        version({ effective_from: '2026-03-01T00:00:00Z' }),
        version({ effective_from: '2026-07-01T00:00:00Z' }),
      ),
    ).toEqual(['2026-07-01 planned', '2026-03-01 in force', '2025-01-01 ended']);
  });

  it('prefers an operator’s price to a later one of the files', () => {
    expect(
      statesOf(version({ source: 'file', effective_from: '2026-05-01T00:00:00Z' }), version({ source: 'operator' })),
    ).toEqual(['2026-05-01 overridden', '2026-01-01 in force']);
  });

  it('falls back to the files after the operator’s price has ended', () => {
    expect(
      statesOf(
        version({ source: 'builtin' }),
        version({ effective_from: '2026-02-01T00:00:00Z', effective_to: '2026-03-01T00:00:00Z' }),
      ),
    ).toEqual(['2026-02-01 ended', '2026-01-01 in force']);
  });

  it('calls a version withdrawn whose revision has no price or that of the files', () => {
    const from = { effective_from: '2026-09-01T00:00:00Z' };
    const withdrawal = { ...from, revision: 2, created_at: '2026-06-01T00:00:00Z' };
    expect(statesOf(version(from), version({ ...withdrawal, price: null }))).toEqual(['2026-09-01 withdrawn']);
    expect(statesOf(version(from), version({ ...withdrawal, source: 'file' }))).toEqual([
      '2026-09-01 planned',
      '2026-09-01 withdrawn',
    ]);
    const later = Date.parse('2026-10-01T00:00:00Z');
    const [entry] = timelineOf([version(from), version({ ...withdrawal, price: null })], null, later);
    expect(entry?.state).toBe('withdrawn');
  });

  it('calls a version replaced whose revision is another price of an operator', () => {
    expect(statesOf(version({}), version({ revision: 2 }))).toEqual(['2026-01-01 in force', '2026-01-01 replaced']);
  });

  it('keeps the prices of deployments apart', () => {
    const own = version({ deployment_id: 'd' });
    expect(timelineOf([own, version({})], 'd', NOW)).toEqual([{ version: own, state: 'in force' }]);
  });

  it('withdraws planned prices of operators until a minute before, and ends those that have not ended', () => {
    const at = (ms: number) => new Date(NOW + ms).toISOString();
    const timeline = timelineOf(
      [
        version({ effective_from: at(61_000) }),
        version({ effective_from: at(30_000) }),
        version({}),
        version({ source: 'file', effective_from: at(90_000) }),
      ],
      null,
      NOW,
    );
    expect(timeline.map((entry) => [isWithdrawable(entry, NOW), isEndable(entry)])).toEqual([
      [false, false],
      [true, true],
      [false, true],
      [false, true],
    ]);
  });
});
