import type { ReactNode } from 'react';
import type { ApiKey } from '../../../contract/dashboard';
import { formatDay } from '../../format/time';
import { DataTable, type Column } from '../../ui/data-table';
import { BudgetCell } from './budget-cell';
import { KeyBadge, KeyEnds } from './key-badge';

const COLUMNS: ReadonlyArray<Column<ApiKey>> = [
  {
    id: 'name',
    head: 'Name',
    cell: ({ name }) => (
      <span className="block max-w-48 truncate xl:max-w-56 2xl:max-w-72" title={name}>
        {name}
      </span>
    ),
  },
  { id: 'key', head: 'Key', priority: 'middle', cell: (apiKey) => <KeyEnds apiKey={apiKey} /> },
  { id: 'state', head: 'State', cell: (apiKey) => <KeyBadge apiKey={apiKey} /> },
  {
    id: 'creator',
    head: 'Created by',
    priority: 'lowest',
    cell: ({ created_by: creator }) => (
      <span className="block max-w-36 truncate text-muted" title={creator?.email ?? undefined}>
        {creator === null ? 'command line' : (creator.email ?? 'a former member')}
      </span>
    ),
  },
  {
    id: 'used',
    head: 'Last used (UTC)',
    priority: 'low',
    cell: ({ last_used_on: day }) =>
      day === null ? (
        <span className="text-muted">never</span>
      ) : (
        <span className="whitespace-nowrap">{formatDay(day)}</span>
      ),
  },
  {
    id: 'day',
    head: 'Today (UTC)',
    end: true,
    priority: 'low',
    cell: ({ name, use, daily_budget_micro: limitMicro }) => (
      <BudgetCell
        label={`Spending of ${name} today`}
        spentMicro={use.day_spent_micro}
        heldMicro={use.day_held_micro}
        limitMicro={limitMicro}
      />
    ),
  },
  {
    id: 'month',
    head: 'This month (UTC)',
    end: true,
    priority: 'middle',
    cell: ({ name, use, monthly_budget_micro: limitMicro }) => (
      <BudgetCell
        label={`Spending of ${name} this month`}
        spentMicro={use.month_spent_micro}
        heldMicro={use.month_held_micro}
        limitMicro={limitMicro}
      />
    ),
  },
];

interface KeysTableProps {
  readonly label: string;
  readonly keys: readonly ApiKey[];
  readonly empty: ReactNode;
}

export function KeysTable({ label, keys, empty }: KeysTableProps) {
  return (
    <DataTable
      label={label}
      columns={COLUMNS}
      rows={keys}
      rowKey={({ id }) => id}
      rowLink={({ organization_id: org, id }) => ({ to: '/o/$org/keys/$key', params: { org, key: id } })}
      empty={empty}
    />
  );
}
