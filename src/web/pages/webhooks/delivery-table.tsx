import type { ReactNode } from 'react';
import type { WebhookDelivery } from '../../../contract/dashboard';
import { useOrganization } from '../../app/use-session';
import { formatCount } from '../../format/count';
import { type Column, DataTable } from '../../ui/data-table';
import { Moment, TimeHead } from '../../ui/moment';
import { DeliveryStateBadge, Outcome } from './delivery-words';

const COLUMNS: ReadonlyArray<Column<WebhookDelivery>> = [
  { id: 'event', head: 'Event', cell: ({ event }) => <code className="font-mono">{event}</code> },
  { id: 'state', head: 'State', cell: ({ state }) => <DeliveryStateBadge state={state} /> },
  {
    id: 'url',
    head: 'Receiver',
    cell: ({ url }) => (
      <span title={url} className="block max-w-64 truncate">
        {new URL(url).host}
      </span>
    ),
    priority: 'middle',
  },
  {
    id: 'outcome',
    head: 'Last response',
    cell: ({ last_status, last_error }) => <Outcome status={last_status} error={last_error} />,
    priority: 'low',
  },
  { id: 'attempts', head: 'Attempts', cell: ({ attempts }) => formatCount(attempts), end: true, priority: 'low' },
  {
    id: 'created',
    head: <TimeHead label="Created" />,
    cell: ({ created_at }) => <Moment time={created_at} />,
    priority: 'middle',
  },
];

interface DeliveryTableProps {
  readonly deliveries: readonly WebhookDelivery[];
  readonly label: string;
  readonly empty?: ReactNode;
}

export function DeliveryTable({ deliveries, label, empty }: DeliveryTableProps) {
  const { id: org } = useOrganization();
  return (
    <DataTable
      label={label}
      rows={deliveries}
      rowKey={({ id }) => id}
      rowLink={({ id }) => ({ to: '/o/$org/webhooks/$delivery', params: { org, delivery: id } })}
      empty={empty}
      columns={COLUMNS}
    />
  );
}
