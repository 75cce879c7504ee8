import { useInfiniteQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import type { LedgerEntry, LedgerEntryKind } from '../../../contract/dashboard';
import { ledgerCsvUrl, ledgerQuery } from '../../api/ledger';
import { isFiltered, oneOf } from '../../app/search-values';
import { useOrganization } from '../../app/use-session';
import { dayAfter } from '../../format/days';
import { Amount } from '../../ui/amount';
import { Button, ButtonAnchor } from '../../ui/button';
import { Card } from '../../ui/card';
import { type Column, DataTable } from '../../ui/data-table';
import { DayRange } from '../../ui/day-range';
import { Empty } from '../../ui/empty';
import { FilterBar } from '../../ui/filter-bar';
import { Download } from '../../ui/icons';
import { KeyName } from '../../ui/key-name';
import { NarrowMoment, TimeHead } from '../../ui/moment';
import { LoadMore } from '../../ui/pager';
import { QueryView } from '../../ui/query-view';
import { Select } from '../../ui/select';
import { type BillingSearch, LEDGER_KINDS } from './billing-search';

const KINDS: Readonly<Record<LedgerEntryKind, string>> = {
  topup: 'Credit',
  charge: 'Charge',
  refund: 'Refund',
  adjust: 'Correction',
};

const COLUMNS: ReadonlyArray<Column<LedgerEntry>> = [
  { id: 'time', head: <TimeHead />, cell: ({ created_at }) => <NarrowMoment time={created_at} /> },
  { id: 'kind', head: 'Kind', cell: ({ kind }) => KINDS[kind] },
  { id: 'for', head: 'For', cell: (entry) => <Occasion {...entry} />, priority: 'middle' },
  {
    id: 'key',
    head: 'Key',
    cell: ({ key_id }) => key_id !== null && <KeyName keyId={key_id} />,
    priority: 'low',
  },
  { id: 'amount', head: 'Amount', cell: ({ amount_micro }) => <Amount micro={amount_micro} signed />, end: true },
  {
    id: 'balance',
    head: 'Balance',
    cell: ({ balance_after_micro: micro }) => micro !== null && <Amount micro={micro} />,
    end: true,
    priority: 'middle',
  },
];

/** Every change of the balance, newest first. */
export function Ledger() {
  const { id } = useOrganization();
  const { kind, from, to } = useSearch({ from: '/signed-in/o/$org/billing' });
  const navigate = useNavigate({ from: '/o/$org/billing' });
  const filters = { kind, from, to: to === undefined ? undefined : dayAfter(to) };
  const ledger = useInfiniteQuery(ledgerQuery(id, filters));
  const change = (changes: BillingSearch): void => void navigate({ search: (current) => ({ ...current, ...changes }) });
  const none = { kind: undefined, from: undefined, to: undefined };
  const clear = isFiltered({ kind, from, to }) ? (): void => change(none) : undefined;
  return (
    <Card flush>
      <FilterBar
        onClear={clear}
        actions={
          <ButtonAnchor href={ledgerCsvUrl(id, filters)} download>
            <Download size={14} aria-hidden="true" />
            CSV
          </ButtonAnchor>
        }
      >
        <Select
          label="Kind"
          value={kind ?? ''}
          options={[['', 'All'], ...LEDGER_KINDS.map((each) => [each, KINDS[each]] as const)]}
          onChange={(next) => change({ kind: oneOf(next, LEDGER_KINDS) })}
        />
        <DayRange from={from} to={to} onChange={change} />
      </FilterBar>
      <QueryView query={ledger}>
        {({ pages }) => (
          <>
            <DataTable
              label="Ledger"
              rows={pages.flatMap(({ data }) => data)}
              rowKey={(entry) => entry.id}
              columns={COLUMNS}
              empty={<NoEntries onClear={clear} />}
            />
            <ArchivedCharges before={pages[0]?.charges_kept_from ?? null} />
          </>
        )}
      </QueryView>
      <LoadMore query={ledger} />
    </Card>
  );
}

/** What an entry is for: a job, a request, or a payment. */
function Occasion({ request_id, job_id, purchase_id, reference }: LedgerEntry) {
  const { id: org } = useOrganization();
  const look = 'link block max-w-36 lg:max-w-64 truncate font-mono text-xs';
  if (job_id !== null) {
    return (
      <Link to="/o/$org/jobs/$job" params={{ org, job: job_id }} title={job_id} className={look}>
        Job {job_id}
      </Link>
    );
  }
  if (request_id !== null) {
    return (
      <Link to="/o/$org/requests/$request" params={{ org, request: request_id }} title={request_id} className={look}>
        {request_id}
      </Link>
    );
  }
  if (purchase_id !== null) {
    return (
      <Link
        to="/o/$org/billing"
        params={{ org }}
        search={{ tab: 'purchases' }}
        title={reference ?? undefined}
        className={look}
      >
        Purchase {reference}
      </Link>
    );
  }
  return (
    <span title={reference ?? undefined} className="block max-w-36 lg:max-w-64 truncate text-muted">
      {reference}
    </span>
  );
}

function ArchivedCharges({ before }: { readonly before: string | null }) {
  if (before === null) return null;
  return (
    <p className="border-t px-4 py-3 text-muted sm:px-5">
      Charges of requests before {before} (UTC) have been archived. The balance includes them.
    </p>
  );
}

function NoEntries({ onClear }: { readonly onClear?: () => void }) {
  if (onClear === undefined) {
    return <Empty title="No entries yet">Credit that you buy and the cost of each request appear here.</Empty>;
  }
  return (
    <Empty title="No entry matches these filters">
      <Button onClick={onClear}>Show all entries</Button>
    </Empty>
  );
}
