import type { ReactNode } from 'react';
import type { UsageRequest } from '../../../contract/dashboard';
import { useKeyLabels } from '../../api/keys';
import { useOrganization } from '../../app/use-session';
import { formatDuration } from '../../format/count';
import { usedOf } from '../../format/receipt';
import { Amount } from '../../ui/amount';
import { DataTable, type Column } from '../../ui/data-table';
import { Moment, TimeHead } from '../../ui/moment';
import { RequestStatus } from './request-status';

interface RequestTableProps {
  readonly rows: readonly UsageRequest[];
  readonly empty: ReactNode;
}

export function RequestTable({ rows, empty }: RequestTableProps) {
  const { id } = useOrganization();
  const keyLabel = useKeyLabels(id);
  const columns: Column<UsageRequest>[] = [
    { id: 'time', head: <TimeHead />, cell: ({ created_at: time }) => <Time time={time} /> },
    { id: 'model', head: 'Model', cell: ({ model }) => <ModelName model={model} /> },
    { id: 'status', head: 'Status', cell: (request) => <RequestStatus request={request} brief /> },
    { id: 'cost', head: 'Cost', end: true, cell: ({ cost_micro: micro }) => <Amount micro={micro} /> },
    {
      id: 'use',
      head: 'Tokens',
      priority: 'middle',
      end: true,
      cell: (request) => (
        <span className="whitespace-nowrap">
          {usedOf(request)
            .join(' ')
            .replace(/ tokens$/, '')}
        </span>
      ),
    },
    {
      id: 'first',
      head: 'First byte',
      end: true,
      priority: 'low',
      cell: ({ first_token_ms: ms }) => <Duration ms={ms} />,
    },
    { id: 'total', head: 'Total', end: true, priority: 'middle', cell: ({ total_ms: ms }) => <Duration ms={ms} /> },
    {
      id: 'key',
      head: 'API key',
      priority: 'low',
      cell: ({ key_id: key }) => <span className="block max-w-36 truncate">{keyLabel(key)}</span>,
    },
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
      empty={empty}
    />
  );
}

/** Date and time on two lines where there is little room. */
function Time({ time }: { readonly time: string }) {
  return (
    <span className="block max-md:w-21 max-md:[&>time]:whitespace-normal">
      <Moment time={time} />
    </span>
  );
}

export function ModelName({ model }: { readonly model: string }) {
  return (
    <span className="block max-w-24 truncate sm:max-w-60" title={model}>
      {model}
    </span>
  );
}

function Duration({ ms }: { readonly ms: number | null }) {
  return <span className="whitespace-nowrap">{formatDuration(ms)}</span>;
}
