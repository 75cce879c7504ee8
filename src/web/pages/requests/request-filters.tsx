import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useId } from 'react';
import { useKeyOptions } from '../../api/keys';
import { MODALITIES, OPERATIONS, requestSearch, type RequestSearch } from '../../api/request-search';
import { usageSeriesQuery } from '../../api/usage';
import { isFiltered } from '../../app/search-values';
import { useOrganization } from '../../app/use-session';
import { MOST } from '../../format/limits';
import { parseDollars, toInputDollars } from '../../format/money';
import { OTHER } from '../../format/series';
import { startOfUtcDay } from '../../format/time';
import { Button } from '../../ui/button';
import { X } from '../../ui/icons';
import { Choice, Labelled, NumberFilter, TextFilter, TimeFilter } from './filter-fields';

const ERROR_CODES = [
  'validation_failed',
  'model_not_found',
  'model_not_allowed',
  'budget_exceeded',
  'insufficient_credits',
  'spending_limit_exceeded',
  'rate_limited',
  'concurrency_exceeded',
  'provider_rate_limited',
  'provider_error',
  'provider_timeout',
  'provider_unavailable',
  'no_provider_available',
  'stream_interrupted',
  'internal_error',
];

function atMost(highest: number, value: number | null): number | null {
  return value !== null && value <= highest ? value : null;
}

/** Every filter of the list; all of them are in the address. */
export function RequestFilters({ search }: { readonly search: RequestSearch }) {
  const { id } = useOrganization();
  const navigate = useNavigate();
  const keys = useKeyOptions(id, search.key_id);
  const models = useQuery(usageSeriesQuery(id, { group_by: 'model' })).data?.data ?? [];
  const change = (changes: Record<string, unknown>): void =>
    void navigate({
      to: '/o/$org/requests',
      params: { org: id },
      search: requestSearch({ ...search, ...changes }),
      resetScroll: false,
    });
  return (
    <div role="group" aria-label="Filters" className="mb-5 space-y-3">
      <div className="grid grid-cols-2 gap-3 md:grid-cols-4 xl:grid-cols-6">
        <RequestById />
        <Period search={search} onChange={change} />
        <Choice
          label="API key"
          value={search.key_id ?? ''}
          none="All keys"
          options={keys}
          onChange={(value) => change({ key_id: value })}
        />
        <Choice
          label="Status"
          value={search.status ?? ''}
          none="All"
          options={[
            ['success', 'Success'],
            ['error', 'Error'],
          ]}
          onChange={(value) => change({ status: value })}
        />
        <Choice
          label="Modality"
          value={search.modality ?? ''}
          none="All"
          options={MODALITIES.map((each) => [each, each])}
          onChange={(value) => change({ modality: value })}
        />
        <Choice
          label="Operation"
          value={search.operation ?? ''}
          none="All"
          options={OPERATIONS.map((each) => [each, each])}
          onChange={(value) => change({ operation: value })}
        />
        <TextFilter
          label="Model"
          value={search.model ?? ''}
          suggestions={models.map(({ group }) => group).filter((group) => group !== OTHER)}
          onChange={(value) => change({ model: value })}
        />
        <TextFilter
          label="Error code"
          value={search.error_code ?? ''}
          suggestions={ERROR_CODES}
          onChange={(value) => change({ error_code: value })}
        />
        <RowFilters search={search} onChange={change} />
      </div>
      {isFiltered(search) && (
        <div className="flex flex-wrap items-end gap-3">
          {periodOf(search) === 'between' && (
            <>
              <TimeFilter label="From (UTC)" value={search.from} onChange={(from) => change({ from })} />
              <TimeFilter label="Before (UTC)" value={search.to} onChange={(to) => change({ to })} />
            </>
          )}
          <Button
            variant="quiet"
            onClick={() => void navigate({ to: '/o/$org/requests', params: { org: id }, search: {} })}
          >
            <X size={16} aria-hidden="true" /> Clear all filters
          </Button>
        </div>
      )}
    </div>
  );
}

interface FilterProps {
  readonly search: RequestSearch;
  readonly onChange: (changes: Record<string, unknown>) => void;
}

function RowFilters({ search, onChange }: FilterProps) {
  return (
    <>
      <TextFilter
        label="Provider"
        value={search.provider ?? ''}
        suggestions={[]}
        onChange={(value) => onChange({ provider: value })}
      />
      <NumberFilter
        label="Cost from ($)"
        value={search.min_cost_micro === undefined ? '' : toInputDollars(search.min_cost_micro)}
        hint="Dollars, such as 0.25"
        parse={(text) => atMost(MOST.filteredCostMicro, parseDollars(text))}
        onChange={(value) => onChange({ min_cost_micro: value })}
      />
      <NumberFilter
        label="Duration from (ms)"
        value={search.min_total_ms?.toString() ?? ''}
        hint="Whole milliseconds"
        parse={(text) => (/^\d{1,10}$/.test(text) ? atMost(MOST.filteredDurationMs, Number(text)) : null)}
        onChange={(value) => onChange({ min_total_ms: value })}
      />
    </>
  );
}

function periodOf({ range, from, to }: RequestSearch): string {
  return range ?? (from === undefined && to === undefined ? '' : 'between');
}

function Period({ search, onChange }: FilterProps) {
  return (
    <Choice
      label="Period"
      value={periodOf(search)}
      none="Any time"
      options={[
        ['1h', 'Last hour'],
        ['24h', 'Last 24 hours'],
        ['7d', 'Last 7 days'],
        ['30d', 'Last 30 days'],
        ['between', 'Between…'],
      ]}
      onChange={(value) =>
        onChange({ range: value, from: value === 'between' ? startOfUtcDay() : undefined, to: undefined })
      }
    />
  );
}

/** Opens the request with the typed id. */
function RequestById() {
  const { id: org } = useOrganization();
  const navigate = useNavigate();
  const id = useId();
  return (
    <form
      className="min-w-0"
      onSubmit={(event) => {
        event.preventDefault();
        const request = String(new FormData(event.currentTarget).get('request')).trim();
        if (request !== '') void navigate({ to: '/o/$org/requests/$request', params: { org, request } });
      }}
    >
      <Labelled label="Request id" id={id}>
        <input id={id} name="request" type="search" className="control" placeholder="req_…" autoComplete="off" />
      </Labelled>
    </form>
  );
}
