import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import type { OperatorModel } from '../../../contract/dashboard';
import { MODEL_MODALITIES } from '../../api/models';
import { servedModelsQuery } from '../../api/operator';
import { formatCount } from '../../format/count';
import { Card } from '../../ui/card';
import { DataTable, type Column } from '../../ui/data-table';
import { Empty } from '../../ui/empty';
import { PageHeader } from '../../ui/page-header';
import { QueryView } from '../../ui/query-view';
import { SearchBox } from '../../ui/search-box';
import { Select } from '../../ui/select';
import { ServedBadge } from './badges';
import { modelsSearch } from './filters';
import { modelLink } from './model-link';
import { decidedBy, reasonsInWords } from './words';

const COLUMNS: ReadonlyArray<Column<OperatorModel>> = [
  { id: 'id', head: 'Model', cell: ({ id }) => <span className="wrap-anywhere">{id}</span> },
  { id: 'modality', head: 'Modality', priority: 'middle', cell: ({ modality }) => modality },
  { id: 'served', head: 'Served', cell: (model) => <ServedBadge model={model} /> },
  {
    id: 'reason',
    head: 'Why not',
    priority: 'middle',
    cell: ({ not_served_because }) => <span className="text-muted">{reasonsInWords(not_served_because)}</span>,
  },
  { id: 'decided', head: 'Decided by', priority: 'low', cell: (model) => decidedBy(model) },
  {
    id: 'deployments',
    head: 'Deployments',
    end: true,
    priority: 'low',
    cell: (model) => formatCount(model.deployments),
  },
];

type Search = ReturnType<typeof modelsSearch>;

export function ServedModelsPage() {
  const search = useSearch({ from: '/signed-in/operator/models' });
  const navigate = useNavigate({ from: '/operator/models' });
  const query = useQuery(servedModelsQuery);
  const set = (change: Search, replace = false): void =>
    void navigate({ search: modelsSearch({ ...search, ...change }), replace });
  return (
    <>
      <PageHeader
        title="Served models"
        description="Every model in the catalogue, and the reasons why some are not served."
      />
      <div className="mb-4 flex flex-wrap items-center gap-3">
        <SearchBox
          label="Search by model"
          value={search.search ?? ''}
          onChange={(text) => set({ search: text }, true)}
        />
        <Select
          label="Modality"
          value={search.modality ?? ''}
          options={[['', 'all'], ...MODEL_MODALITIES.map((modality) => [modality, modality] as const)]}
          onChange={(modality) => void navigate({ search: modelsSearch({ ...search, modality }) })}
        />
        <Select
          label="Served"
          value={search.served ?? ''}
          options={[
            ['', 'all'],
            ['yes', 'yes'],
            ['no', 'no'],
          ]}
          onChange={(served) => void navigate({ search: modelsSearch({ ...search, served }) })}
        />
      </div>
      <Card flush>
        <QueryView query={query}>
          {(models) => {
            const shown = models.filter((model) => matches(model, search));
            return (
              <>
                <p className="px-4 pt-3 text-muted sm:px-5" role="status">
                  {`${formatCount(shown.filter(({ served }) => served).length)} of ${formatCount(shown.length)} are served`}
                </p>
                <DataTable
                  label="Served models"
                  columns={COLUMNS}
                  rows={shown}
                  rowKey={({ id }) => id}
                  rowLink={({ id }) => modelLink(id)}
                  empty={<Empty title="No model matches">Search for another part of the id, or for all models.</Empty>}
                />
              </>
            );
          }}
        </QueryView>
      </Card>
    </>
  );
}

function matches({ id, name, modality, served }: OperatorModel, search: Search): boolean {
  const text = search.search?.toLowerCase() ?? '';
  return (
    (id.toLowerCase().includes(text) || name.toLowerCase().includes(text)) &&
    (search.modality === undefined || modality === search.modality) &&
    (search.served === undefined || served === (search.served === 'yes'))
  );
}
