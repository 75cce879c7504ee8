import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { OperatorModel } from '../../../contract/dashboard';
import { instancesQuery, ledgerAuditQuery, providerHealthQuery, servedModelsQuery } from '../../api/operator';
import { countOf, formatCount } from '../../format/count';
import { Tile } from '../../ui/card';
import { PageHeader } from '../../ui/page-header';
import { Skeleton } from '../../ui/skeleton';
import { BusiestOrganizations } from './busiest-organizations';
import { JobsTile } from './jobs-tile';
import { LedgerAuditTile, LedgerViolations } from './ledger-audit';
import { expectedVersion, hasOtherVersion } from './instance-versions';
import { PaymentsToReview } from './payments-to-review';
import { PlatformUsageTiles } from './platform-usage-tiles';
import { isHeldBack, reasonsInWords } from './words';

const GRID = 'mb-4 grid gap-4 sm:grid-cols-2 xl:grid-cols-4';

/** Whether the platform is well, and what it does. */
export function PlatformPage() {
  const audit = useQuery(ledgerAuditQuery);
  return (
    <>
      <PageHeader title="Platform" description="Health and usage of the whole platform." />
      {audit.data !== undefined && <LedgerViolations audit={audit.data} />}
      <div className="mb-4 grid gap-4 sm:grid-cols-2 lg:grid-cols-3 2xl:grid-cols-5">
        <InstancesTile />
        <ProvidersTile />
        <ModelsTile />
        <JobsTile />
        <LedgerAuditTile query={audit} />
      </div>
      <PaymentsToReview />
      <h2 className="mt-6 mb-3 text-lg font-semibold">Last 24 hours</h2>
      <div className={GRID}>
        <PlatformUsageTiles />
      </div>
      <BusiestOrganizations />
    </>
  );
}

interface QueryLike {
  readonly error: Error | null;
}

/** The value of a tile that has not loaded. */
function Waiting({ error }: QueryLike) {
  return error === null ? <Skeleton className="h-8 w-24" /> : <span className="text-base text-bad">Not loaded</span>;
}

function InstancesTile() {
  const query = useQuery(instancesQuery);
  const instances = query.data;
  if (instances === undefined) {
    return (
      <Tile label="Instances">
        <Waiting error={query.error} />
      </Tile>
    );
  }
  const expected = expectedVersion(instances);
  const differing = instances.filter((instance) => hasOtherVersion(instance, expected)).length;
  return (
    <Tile
      label="Instances alive"
      note={
        <Link to="/operator/instances" className={`link ${differing > 0 ? 'text-warn!' : ''}`}>
          {differing > 0
            ? `${countOf(differing, 'instance')} with another version`
            : `Version ${expected ?? 'unknown'}`}
        </Link>
      }
    >
      {formatCount(instances.filter(({ alive }) => alive).length)}
    </Tile>
  );
}

function ProvidersTile() {
  const query = useQuery(providerHealthQuery);
  const providers = query.data;
  if (providers === undefined) {
    return (
      <Tile label="Providers">
        <Waiting error={query.error} />
      </Tile>
    );
  }
  const open = providers.flatMap(({ deployments }) => deployments).filter(isHeldBack).length;
  return (
    <Tile
      label="Providers configured"
      note={
        <Link
          to="/operator/providers"
          search={open > 0 ? { show: 'failing' } : {}}
          className={`link ${open > 0 ? 'text-bad!' : ''}`}
        >
          {open > 0 ? `${countOf(open, 'breaker')} open` : 'All breakers closed'}
        </Link>
      }
    >
      {formatCount(providers.filter(({ configured }) => configured).length)}
    </Tile>
  );
}

function ModelsTile() {
  const query = useQuery(servedModelsQuery);
  const models = query.data;
  if (models === undefined) {
    return (
      <Tile label="Models">
        <Waiting error={query.error} />
      </Tile>
    );
  }
  return (
    <Tile
      label="Models served"
      note={
        <Link to="/operator/models" search={{ served: 'no' }} className="link">
          {notServed(models)}
        </Link>
      }
    >
      {formatCount(models.filter(({ served }) => served).length)}
      <span className="text-base font-normal text-muted"> of {formatCount(models.length)}</span>
    </Tile>
  );
}

/** `12 not served, most: provider not configured`. */
function notServed(models: readonly OperatorModel[]): string {
  const missing = models.filter(({ served }) => !served);
  if (missing.length === 0) return 'All of the catalogue';
  const counts = new Map<OperatorModel['not_served_because'][number], number>();
  for (const reason of missing.flatMap(({ not_served_because }) => not_served_because)) {
    counts.set(reason, (counts.get(reason) ?? 0) + 1);
  }
  const [most] = [...counts].toSorted(([, one], [, other]) => other - one);
  return `${formatCount(missing.length)} not served${most === undefined ? '' : `, mostly: ${reasonsInWords([most[0]])}`}`;
}
