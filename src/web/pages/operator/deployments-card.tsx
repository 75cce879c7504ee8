import { useQuery, type UseQueryResult } from '@tanstack/react-query';
import { useState } from 'react';
import type { Deployment, OperatorModel, ProviderDeployment } from '../../../contract/dashboard';
import { providerHealthQuery } from '../../api/operator';
import { Badge } from '../../ui/badge';
import { Button } from '../../ui/button';
import { Card } from '../../ui/card';
import { DataTable, type Column } from '../../ui/data-table';
import { Empty } from '../../ui/empty';
import { QueryView } from '../../ui/query-view';
import { BreakerBadge, ResetBreakerDialog } from './breaker';
import { DeploymentDialog } from './deployment-dialog';
import { isHeldBack, reasonsInWords } from './words';

interface DeploymentsCardProps {
  readonly model: OperatorModel;
  readonly query: UseQueryResult<readonly Deployment[]>;
}

interface Opened {
  readonly kind: 'edit' | 'reset';
  readonly deployment: Deployment;
}

/** Where requests for the model go, in the order in which they are tried. */
export function DeploymentsCard({ model, query }: DeploymentsCardProps) {
  const providers = useQuery(providerHealthQuery).data ?? [];
  const health = new Map(
    providers.flatMap(({ deployments }) => deployments).map((each) => [each.deployment_id, each] as const),
  );
  const [opened, setOpened] = useState<Opened>();
  const close = (): void => setOpened(undefined);
  return (
    <Card title="Deployments" description="In the order in which they are tried." flush>
      <QueryView query={query}>
        {(deployments) => (
          <DataTable
            label={`Deployments of ${model.id}`}
            columns={columnsFor(health, setOpened)}
            rows={deployments}
            rowKey={({ id }) => id}
            empty={<Empty title="No deployments">The catalogue names no provider for this model.</Empty>}
          />
        )}
      </QueryView>
      {opened?.kind === 'edit' && <DeploymentDialog deployment={opened.deployment} onClose={close} />}
      {opened?.kind === 'reset' && (
        <ResetBreakerDialog id={opened.deployment.id} name={labelOf(opened.deployment)} onClose={close} />
      )}
    </Card>
  );
}

function labelOf({ provider, upstream_model: name }: Deployment): string {
  return `${provider}: ${name}`;
}

function columnsFor(
  health: ReadonlyMap<string, ProviderDeployment>,
  onOpen: (opened: Opened) => void,
): ReadonlyArray<Column<Deployment>> {
  return [
    {
      id: 'provider',
      head: 'Deployment',
      cell: ({ provider, upstream_model }) => (
        <>
          <p className="font-medium wrap-anywhere">{provider}</p>
          <p className="wrap-anywhere text-muted">{upstream_model}</p>
        </>
      ),
    },
    {
      id: 'priority',
      head: 'Order',
      end: true,
      cell: ({ priority, decided }) => <Decided value={priority} by={decided.priority} />,
    },
    {
      id: 'weight',
      head: 'Weight',
      end: true,
      priority: 'middle',
      cell: ({ weight, decided }) => <Decided value={weight} by={decided.weight} />,
    },
    {
      id: 'callable',
      head: 'Callable',
      cell: ({ callable, not_callable_because: reasons }) =>
        callable ? <Badge tone="good">yes</Badge> : <Badge tone="warn">{reasonsInWords(reasons)}</Badge>,
    },
    {
      id: 'breaker',
      head: 'Breaker',
      priority: 'middle',
      cell: ({ id }) => {
        const own = health.get(id);
        return own === undefined ? null : <BreakerBadge health={own} />;
      },
    },
    {
      id: 'actions',
      head: <span className="sr-only">Actions</span>,
      end: true,
      cell: (deployment) => {
        const own = health.get(deployment.id);
        return (
          <span className="inline-flex flex-wrap justify-end gap-2">
            {own !== undefined && isHeldBack(own) && (
              <Button small onClick={() => onOpen({ kind: 'reset', deployment })}>
                Reset breaker<span className="sr-only"> of {labelOf(deployment)}</span>
              </Button>
            )}
            <Button small onClick={() => onOpen({ kind: 'edit', deployment })}>
              Change<span className="sr-only"> {labelOf(deployment)}</span>
            </Button>
          </span>
        );
      },
    },
  ];
}

interface DecidedProps {
  readonly value: number;
  readonly by: number | null;
}

/** A number and whether an operator decided it. */
function Decided({ value, by }: DecidedProps) {
  return (
    <>
      {value}
      {by !== null && <span className="block text-xs text-muted">operator</span>}
    </>
  );
}
