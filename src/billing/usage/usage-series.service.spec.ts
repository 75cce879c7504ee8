import { systemClock } from '../../core/time/clock';
import { UsageSeriesService } from './usage-series.service';
import type { TotalsRow, UsageTotalsRepository } from './usage-totals.repository';

function row(value: string | null, requests: number): TotalsRow {
  const sums = { errors: '0', input_tokens: '0', output_tokens: '0', charged_micro: String(requests), latency: '' };
  return { bucket: 0, value, requests: String(requests), ...sums };
}

it('keeps a model named "other" apart from the group of the remaining models', async () => {
  const totals = {
    findMostExpensive: () => Promise.resolve(['other', 'a']),
    // The last row is the sum of the remaining models.
    sumNamed: () => Promise.resolve([row('other', 5), row('a', 3), row(null, 2)]),
  };
  const service = new UsageSeriesService(totals as unknown as UsageTotalsRepository, systemClock);
  const { total, groups } = await service.series('organization', { interval: 'day', groupBy: 'model' });
  expect(total).toMatchObject({ requests: 10, chargedMicro: 10n });
  expect(groups.map((group) => [group.name, group.total.requests])).toEqual([
    ['a', 3],
    ['other', 5],
    ['other', 2],
  ]);
});
