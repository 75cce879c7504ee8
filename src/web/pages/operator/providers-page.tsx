import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import type { ProviderDeployment, ProviderHealth } from '../../../contract/dashboard';
import { deploymentsQuery, providerHealthQuery } from '../../api/operator';
import { countOf, formatBytes, formatCount, formatDuration } from '../../format/count';
import { Badge } from '../../ui/badge';
import { Button } from '../../ui/button';
import { Card } from '../../ui/card';
import { DataTable, type Column } from '../../ui/data-table';
import { Empty } from '../../ui/empty';
import { Ago } from '../../ui/moment';
import { PageHeader } from '../../ui/page-header';
import { QueryView } from '../../ui/query-view';
import { SearchBox } from '../../ui/search-box';
import { Select } from '../../ui/select';
import { BreakerBadge, ResetBreakerDialog } from './breaker';
import { providersSearch } from './filters';
import { modelLink } from './model-link';
import { isHeldBack } from './words';

interface Resetting {
  readonly deployment_id: string;
  readonly label: string;
}

export function ProvidersPage() {
  const search = useSearch({ from: '/signed-in/operator/providers' });
  const navigate = useNavigate({ from: '/operator/providers' });
  const query = useQuery(providerHealthQuery);
  const [resetting, setResetting] = useState<Resetting>();
  return (
    <>
      <PageHeader
        title="Providers"
        description="As seen by the instance that responds, updated every five seconds. Instances share only circuit breakers and cool-downs."
      />
      <div className="mb-4 flex flex-wrap items-center gap-3">
        <SearchBox
          label="Search by provider or model"
          value={search.search ?? ''}
          onChange={(text) => void navigate({ search: providersSearch({ ...search, search: text }), replace: true })}
        />
        <Select
          label="Show"
          value={search.show ?? ''}
          options={[
            ['', 'configured'],
            ['failing', 'failing'],
            ['all', 'all'],
          ]}
          onChange={(show) => void navigate({ search: providersSearch({ ...search, show }) })}
        />
      </div>
      <QueryView query={query}>
        {(providers) => <Providers providers={providers} search={search} onReset={setResetting} />}
      </QueryView>
      {resetting !== undefined && (
        <ResetBreakerDialog
          id={resetting.deployment_id}
          name={resetting.label}
          onClose={() => setResetting(undefined)}
        />
      )}
    </>
  );
}

interface ProvidersProps {
  readonly providers: readonly ProviderHealth[];
  readonly search: ReturnType<typeof providersSearch>;
  readonly onReset: (deployment: Resetting) => void;
}

function Providers({ providers, search, onReset }: ProvidersProps) {
  const deployments = useQuery(deploymentsQuery()).data ?? [];
  const upstreamNames = new Map(deployments.map(({ id, upstream_model: name }) => [id, name] as const));
  const shown = providers.map((provider) => narrowed(provider, search)).filter((provider) => provider !== null);
  if (shown.length === 0) {
    return (
      <Card>
        <NoProviders search={search} />
      </Card>
    );
  }
  return (
    <div className="space-y-4">
      {shown.map((provider) => (
        <Provider key={provider.id} provider={provider} upstreamNames={upstreamNames} onReset={onReset} />
      ))}
    </div>
  );
}

function NoProviders({ search: { show, search } }: Pick<ProvidersProps, 'search'>) {
  if (search !== undefined) {
    return (
      <Empty title={show === 'failing' ? 'No failing deployment matches' : 'No provider matches'}>
        Search for another part of the name{show !== 'all' && ', or choose “all”'}.
      </Empty>
    );
  }
  if (show === 'failing') {
    return <Empty title="No deployment is failing">All breakers are closed, and no call has failed lately.</Empty>;
  }
  return (
    <Empty title="No provider is configured">
      Providers appear once they have their{' '}
      <Link to="/operator/credentials" className="link">
        credentials
      </Link>
      . Choose “all” to see the others.
    </Empty>
  );
}

/** The provider with the deployments to show; null when it is not to be shown. */
function narrowed(provider: ProviderHealth, { show, search = '' }: ProvidersProps['search']): ProviderHealth | null {
  if (show === undefined && !provider.configured) return null;
  const text = search.toLowerCase();
  const named = provider.id.toLowerCase().includes(text);
  const deployments = provider.deployments.filter(
    (each) => (named || each.model.toLowerCase().includes(text)) && (show !== 'failing' || isFailing(each)),
  );
  const isShown = deployments.length > 0 || (named && show !== 'failing');
  return isShown ? { ...provider, deployments } : null;
}

function isFailing(deployment: ProviderDeployment): boolean {
  return isHeldBack(deployment) || deployment.failures > 0;
}

interface ProviderProps {
  readonly provider: ProviderHealth;
  /** The provider's names of its models, by deployment. */
  readonly upstreamNames: ReadonlyMap<string, string>;
  readonly onReset: (deployment: Resetting) => void;
}

const SOURCES = { environment: 'from the environment', stored: 'stored' } as const;

function Provider({ provider, ...rest }: ProviderProps) {
  const { id, configured, simulated, credentials, deployments } = provider;
  return (
    <Card
      flush
      title={
        <span className="inline-flex flex-wrap items-center gap-2">
          {id}
          <Badge tone={configured ? 'good' : 'neutral'}>{configured ? 'configured' : 'not configured'}</Badge>
          {simulated && <Badge tone="accent">simulated</Badge>}
        </span>
      }
      description={credentials
        .map(({ name, source }) => `${name} ${source === null ? 'missing' : SOURCES[source]}`)
        .join(', ')}
    >
      <DataTable
        label={`Deployments of ${id}`}
        columns={columnsFor(rest)}
        rows={deployments}
        rowKey={({ deployment_id }) => deployment_id}
        empty={<p className="px-4 pb-4 text-muted sm:px-5">No model of the catalogue uses it.</p>}
      />
    </Card>
  );
}

function columnsFor({
  upstreamNames,
  onReset,
}: Omit<ProviderProps, 'provider'>): ReadonlyArray<Column<ProviderDeployment>> {
  /** With the provider's name, because a provider can serve a model twice. */
  const labelOf = ({ model, deployment_id: id }: ProviderDeployment): string =>
    upstreamNames.has(id) ? `${model} (${upstreamNames.get(id)})` : model;
  return [
    {
      id: 'model',
      head: 'Model',
      cell: ({ model, enabled, deployment_id: id }) => (
        <>
          <span className="inline-flex flex-wrap items-center gap-2">
            <Link {...modelLink(model)} className="link wrap-anywhere">
              {model}
            </Link>
            {!enabled && <Badge>disabled</Badge>}
          </span>
          <span className="block text-xs wrap-anywhere text-muted">{upstreamNames.get(id)}</span>
        </>
      ),
    },
    { id: 'breaker', head: 'Breaker', cell: (health) => <BreakerBadge health={health} /> },
    {
      id: 'failures',
      head: 'Failures',
      end: true,
      cell: ({ failures, last_failure: last, skipped_events: skipped }) => (
        <>
          {formatCount(failures)}
          {last !== null && (
            <span className="block text-xs text-muted">
              {last.code}, <Ago time={last.at} />
            </span>
          )}
          {skipped > 0 && (
            <span className="block text-xs text-warn">{countOf(skipped, 'unreadable stream event')}</span>
          )}
        </>
      ),
    },
    { id: 'flight', head: 'In flight', end: true, priority: 'middle', cell: (row) => formatCount(row.in_flight) },
    { id: 'first', head: 'First token', end: true, priority: 'low', cell: (row) => formatDuration(row.first_token_ms) },
    { id: 'reply', head: 'Whole reply', end: true, priority: 'low', cell: (row) => formatDuration(row.reply_ms) },
    {
      id: 'rate',
      head: 'Output',
      end: true,
      priority: 'low',
      cell: ({ bytes_per_second: rate }) =>
        rate !== null && <span className="whitespace-nowrap">{formatBytes(rate)}/s</span>,
    },
    {
      id: 'action',
      head: <span className="sr-only">Action</span>,
      end: true,
      cell: (deployment) =>
        isFailing(deployment) && (
          <Button small onClick={() => onReset({ ...deployment, label: labelOf(deployment) })}>
            Reset breaker<span className="sr-only"> of {labelOf(deployment)}</span>
          </Button>
        ),
    },
  ];
}
