import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import type { Model } from '../../../contract/dashboard';
import { MODEL_MODALITIES, modelsQuery } from '../../api/models';
import { useOrganization } from '../../app/use-session';
import { countOf } from '../../format/count';
import { formatMicro } from '../../format/money';
import { modelPath } from '../../format/model-path';
import { priceLines } from '../../format/model-price';
import { Badge } from '../../ui/badge';
import { Card } from '../../ui/card';
import { DataTable, type Column } from '../../ui/data-table';
import { Empty } from '../../ui/empty';
import { PageHeader } from '../../ui/page-header';
import { QueryView } from '../../ui/query-view';
import { SearchBox } from '../../ui/search-box';
import { Select } from '../../ui/select';
import { featureWords, formatContext } from './model-words';
import type { ModelsSearch } from './models-search';

const SHOWN_PRICES = 2;

const COLUMNS: ReadonlyArray<Column<Model>> = [
  { id: 'model', head: 'Model', cell: ({ id, name }) => <ModelName id={id} name={name} /> },
  { id: 'modality', head: 'Kind', cell: ({ modality }) => <Badge>{modality}</Badge>, priority: 'middle' },
  {
    id: 'context',
    head: 'Context',
    end: true,
    cell: ({ context_length: tokens }) => (tokens === undefined ? '' : formatContext(tokens)),
    priority: 'low',
  },
  {
    id: 'features',
    head: 'Features',
    cell: (model) => <span className="text-muted">{featureWords(model).join(', ')}</span>,
    priority: 'low',
  },
  { id: 'price', head: 'Price', end: true, cell: ({ pricing }) => <Prices pricing={pricing} /> },
];

/** The offered models with their prices. */
export function ModelsPage() {
  const { id: org } = useOrganization();
  const search = useSearch({ from: '/signed-in/o/$org/models' });
  const navigate = useNavigate({ from: '/o/$org/models' });
  const models = useQuery(modelsQuery);
  const set = (changes: ModelsSearch): void =>
    void navigate({ search: (before) => ({ ...before, ...changes }), replace: true });
  const text = (search.q ?? '').toLowerCase();
  const matches = ({ id, name, modality }: Model): boolean =>
    (search.modality === undefined || modality === search.modality) && `${id} ${name}`.toLowerCase().includes(text);
  return (
    <>
      <PageHeader title="Models" description="Current prices, in US dollars." />
      <div className="mb-4 flex flex-wrap items-center gap-3">
        <SearchBox
          label="Search models"
          placeholder="Name or id"
          value={search.q ?? ''}
          onChange={(q) => set({ q: q === '' ? undefined : q })}
        />
        <Select
          label="Kind"
          value={search.modality ?? ''}
          options={[['', 'all'], ...MODEL_MODALITIES.map((modality) => [modality, modality] as const)]}
          onChange={(value) => set({ modality: MODEL_MODALITIES.find((each) => each === value) })}
        />
      </div>
      <QueryView query={models}>
        {(all) => {
          const shown = all.filter(matches);
          return (
            <Card flush>
              <p className="sr-only" role="status">
                {countOf(shown.length, 'model')}
              </p>
              <DataTable
                label="Models"
                columns={COLUMNS}
                rows={shown}
                rowKey={({ id }) => id}
                rowLink={({ id }) => ({ to: '/o/$org/models/$vendor/$name', params: { org, ...modelPath(id) } })}
                empty={
                  all.length === 0 ? (
                    <Empty title="No models available">An operator of this service can enable providers.</Empty>
                  ) : (
                    <Empty title="No model matches">Try another word or kind.</Empty>
                  )
                }
              />
            </Card>
          );
        }}
      </QueryView>
    </>
  );
}

function ModelName({ id, name }: { readonly id: string; readonly name: string }) {
  return (
    <>
      <span className="block">{name}</span>
      <span className="block font-mono text-xs font-normal wrap-anywhere text-muted">{id}</span>
    </>
  );
}

function Prices({ pricing }: Pick<Model, 'pricing'>) {
  const lines = priceLines(pricing);
  const [first] = lines;
  if (first === undefined) return null;
  const shown = lines.slice(0, SHOWN_PRICES).filter(({ unit }) => unit === first.unit);
  return (
    <span className="inline-flex flex-col items-end">
      <span className="whitespace-nowrap">{shown.map(({ micro }) => formatMicro(micro)).join(' / ')}</span>
      <span className="text-xs text-muted">per {first.unit}</span>
    </span>
  );
}
