import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { ApiKey } from '../../../contract/dashboard';
import { isApiError } from '../../api/errors';
import { keyQuery } from '../../api/keys';
import { NoSuchPage } from '../../app/no-such-page';
import { formatDay } from '../../format/time';
import { Banner } from '../../ui/banner';
import { BudgetMeter } from '../../ui/budget-meter';
import { Card, Facts } from '../../ui/card';
import { CopyButton } from '../../ui/copy-button';
import { Ago, Moment } from '../../ui/moment';
import { PageHeader } from '../../ui/page-header';
import { QueryView } from '../../ui/query-view';
import { PageSkeleton } from '../../ui/skeleton';
import { KeyActions } from './key-actions';
import { KeyBadge, KeyEnds, isInGracePeriod } from './key-badge';
import { KeyRequests } from './key-requests';
import { restrictionsOf } from './key-settings';
import { UsageSummary } from '../usage/usage-summary';

/** One key: its state, spending, restrictions and requests. */
export function KeyPage() {
  const { org, key: id } = useParams({ from: '/signed-in/o/$org/keys/$key' });
  const query = useQuery(keyQuery(org, id));
  if (isApiError(query.error, 'not_found')) return <NoSuchPage object="API key" />;
  return (
    <QueryView query={query} loading={<PageSkeleton />}>
      {(apiKey) => <KeyView apiKey={apiKey} />}
    </QueryView>
  );
}

function KeyView({ apiKey }: { readonly apiKey: ApiKey }) {
  return (
    <>
      <PageHeader
        title={apiKey.name}
        description={
          <span className="flex flex-wrap items-center gap-x-3 gap-y-1">
            <KeyBadge apiKey={apiKey} />
            <KeyEnds apiKey={apiKey} />
            <span>
              Created <Ago time={apiKey.created_at} />
            </span>
          </span>
        }
        actions={<KeyActions apiKey={apiKey} />}
      />
      <StateBanner apiKey={apiKey} />
      <div className="grid gap-4 lg:grid-cols-2">
        <Spending apiKey={apiKey} />
        <Restrictions apiKey={apiKey} />
        <UsageSummary of={{ key_id: apiKey.id }} />
        <Card title="About this key">
          <Facts facts={factsOf(apiKey)} />
        </Card>
      </div>
      <KeyRequests apiKey={apiKey} />
    </>
  );
}

function StateBanner({ apiKey }: { readonly apiKey: ApiKey }) {
  const { kind, status, revoked_at: revokedAt, replaced_by: successor, organization_id: org } = apiKey;
  if (kind === 'playground') {
    return (
      <Banner tone="neutral" title="Playground key">
        The dashboard uses it for the requests of one member. The gateway manages it, and it cannot be changed.
      </Banner>
    );
  }
  const link = successor !== null && (
    <>
      {' '}
      <Link to="/o/$org/keys/$key" params={{ org, key: successor }} className="link">
        Show the new key
      </Link>
    </>
  );
  if (isInGracePeriod(apiKey) && revokedAt !== null) {
    return (
      <Banner tone="warn" title="This key was replaced">
        It works until <Moment time={revokedAt} zoned />, so that applications can change over.{link}
      </Banner>
    );
  }
  switch (status) {
    case 'revoked':
      return (
        <Banner tone="bad" title="This key is revoked">
          Requests with it are refused.{link}
        </Banner>
      );
    case 'disabled':
      return (
        <Banner tone="neutral" title="This key is disabled">
          Requests with it are refused until it is enabled.
        </Banner>
      );
    case 'expired':
      return (
        <Banner tone="warn" title="This key has expired">
          Requests with it are refused. A later expiry in its settings makes it work again.
        </Banner>
      );
    case 'active':
      return null;
  }
}

function Spending({ apiKey: { use, daily_budget_micro: daily, monthly_budget_micro: monthly } }: { apiKey: ApiKey }) {
  return (
    <Card title="Spending" description="Days and months are UTC. Amounts held for requests in flight are included.">
      <div className="space-y-4">
        <BudgetMeter label="Today" spentMicro={use.day_spent_micro} heldMicro={use.day_held_micro} limitMicro={daily} />
        <BudgetMeter
          label="This month"
          spentMicro={use.month_spent_micro}
          heldMicro={use.month_held_micro}
          limitMicro={monthly}
        />
      </div>
    </Card>
  );
}

function Restrictions({ apiKey }: { readonly apiKey: ApiKey }) {
  const restrictions = restrictionsOf(apiKey);
  return (
    <Card title="Limits and restrictions">
      {restrictions.length === 0 ? (
        <p className="text-muted">None. The limits of the organization apply.</p>
      ) : (
        <Facts facts={restrictions} />
      )}
    </Card>
  );
}

function factsOf(apiKey: ApiKey): ReadonlyArray<readonly [string, ReactNode]> {
  const {
    id,
    created_by: creator,
    created_at: created,
    expires_at: expires,
    last_used_on: used,
    revoked_at: revoked,
  } = apiKey;
  return [
    [
      'Key ID',
      <span key="id" className="flex items-center gap-1">
        <span className="font-mono text-[0.8125rem]">{id}</span>
        <CopyButton text={id} object="key id" />
      </span>,
    ],
    ['Created', <Moment key="created" time={created} zoned />],
    ['Created by', creator === null ? 'an operator’s command line' : (creator.email ?? 'a former member')],
    ['Last used (UTC)', used === null ? 'never' : formatDay(used)],
    ['Expires', expires === null ? 'never' : <Moment key="expires" time={expires} zoned />],
    ['Revoked', revoked === null ? null : <Moment key="revoked" time={revoked} zoned />],
  ];
}
