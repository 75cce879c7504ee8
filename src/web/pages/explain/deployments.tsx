import type { ExplainedCandidate, LeftOutDeployment } from '../../../contract/dashboard';
import { Amount } from '../../ui/amount';
import { Card } from '../../ui/card';
import { type Column, DataTable } from '../../ui/data-table';
import { reasonInWords } from './explain-words';
import { priceInWords } from './price-in-words';

interface Ranked extends ExplainedCandidate {
  readonly rank: number;
}

const CANDIDATE_COLUMNS: ReadonlyArray<Column<Ranked>> = [
  { id: 'rank', head: 'Order', cell: ({ rank }) => rank },
  {
    id: 'provider',
    head: 'Provider',
    cell: ({ provider, deployment_id }) => <span title={deployment_id}>{provider}</span>,
  },
  { id: 'model', head: 'Model', cell: ({ model }) => model },
  { id: 'price', head: 'Price', cell: ({ pricing }) => priceInWords(pricing), priority: 'low' },
  {
    id: 'cost',
    head: 'Estimate',
    cell: ({ estimated_cost_micro }) =>
      estimated_cost_micro === null ? 'no price' : <Amount micro={estimated_cost_micro} />,
    end: true,
  },
];

/** Who would be called, one after the other until one succeeds. */
export function Candidates({ candidates }: { readonly candidates: readonly ExplainedCandidate[] }) {
  return (
    <Card flush title="Candidates" description="Called in this order until one succeeds.">
      <DataTable
        label="Candidates"
        rows={candidates.map((candidate, index) => ({ ...candidate, rank: index + 1 }))}
        rowKey={({ deployment_id }) => deployment_id}
        columns={CANDIDATE_COLUMNS}
        empty={<p className="px-4 pb-4 text-muted sm:px-5">No deployment would be called.</p>}
      />
    </Card>
  );
}

const LEFT_OUT_COLUMNS: ReadonlyArray<Column<LeftOutDeployment>> = [
  {
    id: 'provider',
    head: 'Provider',
    cell: ({ provider, deployment_id }) => <span title={deployment_id}>{provider}</span>,
  },
  { id: 'model', head: 'Model', cell: ({ model }) => model, priority: 'middle' },
  { id: 'reason', head: 'Why not', cell: (deployment) => reasonInWords(deployment) },
];

export function LeftOut({ deployments }: { readonly deployments: readonly LeftOutDeployment[] }) {
  return (
    <Card flush title="Excluded">
      <DataTable
        label="Excluded"
        rows={deployments}
        rowKey={({ deployment_id, model }) => `${model} ${deployment_id}`}
        columns={LEFT_OUT_COLUMNS}
      />
    </Card>
  );
}
