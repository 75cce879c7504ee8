import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { Balance, UsageGroup, UsageSums } from '../../../contract/dashboard';
import { balanceQuery } from '../../api/billing';
import { usageSeriesQuery } from '../../api/usage';
import { usageView } from '../../api/usage-search';
import { useOrganization } from '../../app/use-session';
import { formatCount, formatDuration } from '../../format/count';
import { formatTenths } from '../../format/money';
import { errorTenths } from '../../format/series';
import { formatMonth, startOfUtcMonth } from '../../format/time';
import { Amount } from '../../ui/amount';
import { BudgetMeter } from '../../ui/budget-meter';
import { Tile } from '../../ui/card';
import { Sparkline } from '../../ui/chart/chart';
import { QueryView } from '../../ui/query-view';
import { Skeleton } from '../../ui/skeleton';

function TileRow({ children }: { readonly children: ReactNode }) {
  return (
    <div className="grid grid-cols-2 gap-3 max-sm:[&>*:last-child:nth-child(odd)]:col-span-2 sm:auto-cols-fr sm:grid-flow-col sm:grid-cols-none lg:gap-5">
      {children}
    </div>
  );
}

const LOADING = <Skeleton className="h-28 w-full" />;

/** Credit available, held, and spent in this month. */
export function MoneyTiles() {
  const { id } = useOrganization();
  return (
    <QueryView query={useQuery(balanceQuery(id))} loading={LOADING}>
      {(balance) => (
        <TileRow>
          <Tile
            label="Available"
            note={
              <Link to="/o/$org/billing" params={{ org: id }} className="link">
                Billing
              </Link>
            }
          >
            <Amount micro={balance.available_micro} large />
          </Tile>
          <Tile label="Held" note="For requests in progress">
            <Amount micro={balance.reserved_micro} large />
          </Tile>
          <MonthTile balance={balance} />
        </TileRow>
      )}
    </QueryView>
  );
}

function MonthTile({ balance }: { readonly balance: Balance }) {
  const limits = [balance.monthly_limit_micro, balance.operator_monthly_limit_micro].filter((limit) => limit !== null);
  const limit = limits.length === 0 ? null : Math.min(...limits);
  return (
    <Tile
      label={`Spent in ${formatMonth(startOfUtcMonth())} (UTC)`}
      note={
        limit === null ? (
          'No monthly limit'
        ) : (
          <BudgetMeter
            label="Monthly limit"
            spentMicro={balance.month_spent_micro}
            heldMicro={balance.reserved_micro}
            limitMicro={limit}
          />
        )
      }
    >
      <Amount micro={balance.month_spent_micro} large />
    </Tile>
  );
}

/** Requests, errors and cost of the last 24 hours. */
export function ActivityTiles() {
  const { id } = useOrganization();
  const { from } = usageView({ range: '24h' });
  const series = useQuery(usageSeriesQuery(id, { from, interval: 'hour' }));
  return (
    <QueryView query={series} loading={LOADING}>
      {({ total, data: [all] }) => (
        <TileRow>
          <Tile label="Requests, 24 h" note={<Course group={all} of="requests" color="var(--color-series-1)" />}>
            <Link to="/o/$org/requests" params={{ org: id }} search={{ range: '24h' }} className="hover:underline">
              {formatCount(total.requests)}
            </Link>
          </Tile>
          <Tile label="Error rate, 24 h" note={<Course group={all} of="errors" color="var(--color-bad)" />}>
            <Link
              to="/o/$org/requests"
              params={{ org: id }}
              search={{ range: '24h', status: 'error' }}
              className="hover:underline"
            >
              {formatTenths(errorTenths(total)) || '0.0%'}
            </Link>
          </Tile>
          <Tile label="Cost, 24 h" note={<Course group={all} of="cost_micro" color="var(--color-series-2)" />}>
            <Amount micro={total.cost_micro} large />
          </Tile>
          <LatencyTile times={total.first_token_ms} />
        </TileRow>
      )}
    </QueryView>
  );
}

/** How long requests waited for their first token. */
function LatencyTile({ times }: { readonly times: UsageSums['first_token_ms'] }) {
  return (
    <Tile
      label="First token, median, 24 h"
      note={times === null ? 'No data' : `95% within ${formatDuration(times.p95)}`}
    >
      {times === null ? '–' : formatDuration(times.p50)}
    </Tile>
  );
}

interface CourseProps {
  readonly group: UsageGroup | undefined;
  readonly of: 'requests' | 'errors' | 'cost_micro';
  readonly color: string;
}

function Course({ group, of, color }: CourseProps) {
  return <Sparkline values={group?.buckets.map((bucket) => BigInt(bucket[of])) ?? [0n, 0n]} color={color} />;
}
