import type { MouseEvent, ReactNode } from 'react';
import type { UsageRequest } from '../../../contract/dashboard';
import { useKeyLabels } from '../../api/keys';
import { useOrganization } from '../../app/use-session';
import { formatDuration } from '../../format/count';
import { usedOf } from '../../format/receipt';
import { Amount } from '../../ui/amount';
import { DataTable, type Column } from '../../ui/data-table';
import { NarrowMoment, TimeHead } from '../../ui/moment';
import { COLUMN_WORDS, useRequestColumns, type RequestColumn } from './request-columns';
import { RequestStatus } from './request-status';

interface RequestTableProps {
  readonly rows: readonly UsageRequest[];
  readonly empty: ReactNode;
  /** The request whose receipt is open next to the list. */
  readonly current: string | undefined;
  /** Before a row is followed. */
  readonly onFollow: (request: UsageRequest, event: MouseEvent) => void;
}

/** The requests in the columns that the user has chosen. */
export function RequestTable({ rows, empty, current, onFollow }: RequestTableProps) {
  const { id } = useOrganization();
  const keyLabel = useKeyLabels(id);
  const { shown } = useRequestColumns();
  const all: Readonly<Record<RequestColumn, Omit<Column<UsageRequest>, 'id' | 'head'>>> = {
    model: { cell: ({ model }) => <ModelName model={model} /> },
    status: { cell: (request) => <RequestStatus request={request} brief /> },
    cost: { end: true, cell: ({ cost_micro: micro }) => <Amount micro={micro} /> },
    use: { priority: 'middle', end: true, cell: (request) => <Used request={request} /> },
    first: { end: true, priority: 'low', cell: ({ first_token_ms: ms }) => <Duration ms={ms} /> },
    total: { end: true, priority: 'middle', cell: ({ total_ms: ms }) => <Duration ms={ms} /> },
    key: { priority: 'low', cell: ({ key_id: key }) => <Clipped text={keyLabel(key)} /> },
    provider: { cell: ({ provider }) => <Clipped text={provider ?? '–'} /> },
    operation: { cell: ({ operation }) => operation },
    calls: { end: true, cell: ({ attempt_count: count }) => count },
    id: { cell: ({ request_id: request }) => <code className="font-mono text-[0.8125rem]">{request}</code> },
  };
  const columns: Column<UsageRequest>[] = [
    { id: 'time', head: <TimeHead />, cell: ({ created_at: time }) => <NarrowMoment time={time} /> },
    ...shown.map((column) => ({ id: column, head: COLUMN_WORDS[column], ...all[column] })),
  ];
  return (
    <DataTable
      label="Requests"
      columns={columns}
      rows={rows}
      rowKey={(request) => request.id}
      rowLink={({ request_id: request }) => ({
        to: '/o/$org/requests/$request',
        params: { org: id, request },
      })}
      onFollow={onFollow}
      isCurrent={(request) => request.request_id === current || request.id === current}
      empty={empty}
    />
  );
}

function Used({ request }: { readonly request: UsageRequest }) {
  const text = usedOf(request)
    .join(' ')
    .replace(/ tokens$/, '');
  return <span className="whitespace-nowrap">{text}</span>;
}

function Clipped({ text }: { readonly text: string }) {
  return (
    <span className="block max-w-36 truncate" title={text}>
      {text}
    </span>
  );
}

export function ModelName({ model }: { readonly model: string }) {
  return (
    <span className="line-clamp-2 max-w-16 wrap-anywhere sm:block sm:max-w-60 sm:truncate" title={model}>
      {model}
    </span>
  );
}

function Duration({ ms }: { readonly ms: number | null }) {
  return <span className="whitespace-nowrap">{formatDuration(ms)}</span>;
}
