import { randomUUID } from 'node:crypto';
import type { OperatorUsageSeries } from '../../../../src/contract/dashboard';
import type { DashboardClient } from '../../../harness/dashboard-client';
import { COST, OUTPUT_TOKENS, PROMPT_TOKENS, refuses } from '../../routing/two-upstreams';
import { sumOf, UsageWorld } from '../usage/usage-world';
import { OPERATOR } from './operator-stage';

let world: UsageWorld;
let operator: DashboardClient;
beforeAll(async () => {
  world = await UsageWorld.start();
  operator = await world.upstreams.gateway.dashboardUser({ operator: true });
});
afterAll(() => world.stop());

async function read(query = ''): Promise<OperatorUsageSeries> {
  return (await operator.call(`${OPERATOR}/usage/series${query}`)).json;
}

describe('the usage of the platform over time', () => {
  it('sums the charges of all organizations immediately, by any grouping', async () => {
    await world.reset();
    const first = world.upstreams.customer.organizationId;
    await world.upstreams.call('local/solo');
    await world.upstreams.call('local/pair');
    await world.reset();
    const second = world.upstreams.customer.organizationId;
    await world.upstreams.call('local/solo');
    world.upstreams.first.answer = refuses(503);
    await world.upstreams.call('local/solo');
    const total = {
      requests: 4,
      errors: 1,
      input_tokens: 3 * PROMPT_TOKENS,
      output_tokens: 3 * OUTPUT_TOKENS,
      cost_micro: 3 * COST.first,
    };
    const expected: Record<string, string[]> = {
      none: ['all'],
      model: ['local/solo', 'local/pair'],
      organization: [first, second],
      status: ['success', 'error'],
    };
    for (const fold of [false, true]) {
      if (fold) await world.fold();
      for (const interval of ['hour', 'day']) {
        for (const [groupBy, groups] of Object.entries(expected)) {
          const series = await read(`?interval=${interval}&group_by=${groupBy}`);
          expect(series.total).toMatchObject(total);
          expect(series.data.map(({ group }) => group)).toEqual(groups);
          expect(sumOf(series.data.flatMap(({ buckets }) => buckets))).toBe(total.cost_micro);
        }
      }
    }
    const { data } = await read('?group_by=organization');
    expect(data.map(({ total: { requests, errors, cost_micro } }) => [requests, errors, cost_micro])).toEqual([
      [2, 0, 2 * COST.first],
      [2, 1, COST.first],
    ]);
  });

  it('lists the 20 most expensive organizations and the sum of all others', async () => {
    await world.upstreams.gateway.rows(
      `INSERT INTO usage_delta (organization_id, key_id, hour, model, operation, outcome, requests, input_tokens,
                                output_tokens, charged_micro)
       SELECT gen_random_uuid(), $1, '2026-01-02T03:00Z', 'local/solo', 'createChatCompletion', 'success', 1, 2, 3, n
         FROM generate_series(1, 23) n`,
      [randomUUID()],
    );
    for (const fold of [false, true]) {
      if (fold) await world.fold();
      const { total, data } = await read('?group_by=organization&from=2026-01-02&to=2026-01-03');
      expect(total).toMatchObject({ requests: 23, cost_micro: 276 });
      expect(data.map((each) => each.total.cost_micro)).toEqual([...Array.from({ length: 20 }, (_, n) => 23 - n), 6]);
      expect(data.at(-1)).toMatchObject({ group: 'other', total: { requests: 3 } });
    }
  });
});
