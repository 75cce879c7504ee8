import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { useState } from 'react';
import type { OperatorOrganizationDetails } from '../../../contract/dashboard';
import { isApiError } from '../../api/errors';
import { operatorOrganizationQuery } from '../../api/operator';
import { NoSuchPage } from '../../app/no-such-page';
import { availableMicro } from '../../format/balance';
import { formatCount } from '../../format/count';
import { lowestLimit } from '../../format/limits';
import { formatMicro } from '../../format/money';
import { Amount } from '../../ui/amount';
import { Button, ButtonLink } from '../../ui/button';
import { Card, Facts, Tile } from '../../ui/card';
import { CopyButton } from '../../ui/copy-button';
import { Ago } from '../../ui/moment';
import { PageHeader } from '../../ui/page-header';
import { QueryView } from '../../ui/query-view';
import { PageSkeleton } from '../../ui/skeleton';
import { OrganizationBadge } from './badges';
import { BalanceDialog } from './balance-dialog';
import { amountFact, rateLimitFacts } from './limit-facts';
import { OrganizationKeys, OrganizationMembers, OrganizationPurchases } from './organization-lists';
import { OrganizationLimitsDialog } from './organization-limits-dialog';
import { RecentChanges } from './recent-changes';
import { StatusDialog } from './status-dialog';

export function OrganizationPage() {
  const { org } = useParams({ from: '/signed-in/operator/organizations/$org' });
  const query = useQuery(operatorOrganizationQuery(org));
  if (query.data === undefined && isApiError(query.error, 'not_found')) return <NoSuchPage object="organization" />;
  return (
    <QueryView query={query} loading={<PageSkeleton />}>
      {(organization) => <Organization organization={organization} />}
    </QueryView>
  );
}

type Opened = 'status' | 'balance' | 'limits';

function Organization({ organization }: { readonly organization: OperatorOrganizationDetails }) {
  const [opened, setOpened] = useState<Opened>();
  const close = (): void => setOpened(undefined);
  const { id, name, status, created_at } = organization;
  return (
    <>
      <PageHeader
        title={
          <span className="inline-flex flex-wrap items-center gap-3">
            {name} <OrganizationBadge status={status} />
          </span>
        }
        description={
          <span className="inline-flex flex-wrap items-center gap-1">
            <code className="font-mono text-[0.8125rem] break-all">{id}</code>
            <CopyButton text={id} object="organization id" />
            <span>
              created <Ago time={created_at} />
            </span>
          </span>
        }
        actions={
          <>
            <Button onClick={() => setOpened('status')}>{status === 'active' ? 'Suspend' : 'Activate'}</Button>
            <Button variant="primary" onClick={() => setOpened('balance')}>
              Correct balance
            </Button>
          </>
        }
      />
      <Figures organization={organization} />
      <div className="grid items-start gap-4 lg:grid-cols-2">
        <Limits organization={organization} onChange={() => setOpened('limits')} />
        <Card
          title="Changes"
          actions={
            <ButtonLink small to="/operator/audit" search={{ organization: id }}>
              All changes
            </ButtonLink>
          }
        >
          <RecentChanges organizationId={id} />
        </Card>
        <OrganizationMembers organizationId={id} />
        <OrganizationKeys organizationId={id} />
      </div>
      <div className="mt-4">
        <OrganizationPurchases organizationId={id} />
      </div>
      {opened === 'status' && <StatusDialog organization={organization} onClose={close} />}
      {opened === 'balance' && <BalanceDialog organization={organization} onClose={close} />}
      {opened === 'limits' && <OrganizationLimitsDialog organization={organization} onClose={close} />}
    </>
  );
}

function Figures({ organization }: { readonly organization: OperatorOrganizationDetails }) {
  const { balance_micro, reserved_micro, counts, max_api_keys } = organization;
  return (
    <div className="mb-4 grid gap-4 sm:grid-cols-2 xl:grid-cols-4">
      <Tile
        label="Available"
        note={
          <>
            <Amount micro={balance_micro} /> balance, <Amount micro={reserved_micro} /> held
          </>
        }
      >
        <Amount micro={availableMicro(balance_micro, reserved_micro)} large />
      </Tile>
      <Tile label="API keys" note={`of ${formatCount(max_api_keys)} allowed`}>
        {formatCount(counts.keys)}
      </Tile>
      <Tile label="Members">{formatCount(counts.members)}</Tile>
      <Tile label="Spending limit" note={<MonthNote organization={organization} />}>
        <MonthlyLimit organization={organization} />
      </Tile>
    </div>
  );
}

/** The lower of the operator's and the organization's own limit applies. */
function MonthlyLimit({ organization }: { readonly organization: OperatorOrganizationDetails }) {
  const limit = lowestLimit([organization.monthly_limit_micro, organization.own_monthly_limit_micro]);
  return limit === null ? 'none' : <Amount micro={limit} large />;
}

function MonthNote({ organization }: { readonly organization: OperatorOrganizationDetails }) {
  const { own_monthly_limit_micro: own } = organization;
  return <>per month (UTC){own === null ? '' : `, their own: ${formatMicro(own)}`}</>;
}

interface LimitsProps {
  readonly organization: OperatorOrganizationDetails;
  readonly onChange: () => void;
}

function Limits({ organization, onChange }: LimitsProps) {
  return (
    <Card
      title="Limits"
      description="For all API keys of the organization together."
      actions={
        <Button small onClick={onChange}>
          Set limits
        </Button>
      }
    >
      <Facts
        facts={[
          ...rateLimitFacts(organization),
          ['Spending per month (UTC)', amountFact(organization.monthly_limit_micro, 'none')],
          ['Purchases per day (UTC)', amountFact(organization.purchase_limit_day_micro, 'platform default')],
          ['Purchases per month (UTC)', amountFact(organization.purchase_limit_month_micro, 'platform default')],
          ['API keys', formatCount(organization.max_api_keys)],
        ]}
      />
    </Card>
  );
}
