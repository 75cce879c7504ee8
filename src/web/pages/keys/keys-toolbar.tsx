import { Select } from '../../ui/select';
import { KEY_ORDERS, type KeyFilter } from './key-filter';

const ORDER_LABELS = { newest: 'Newest first', name: 'Name', used: 'Last used', spent: 'Spent this month' } as const;
const OPTIONS = KEY_ORDERS.map((order) => [order, ORDER_LABELS[order]] as const);

interface KeysToolbarProps {
  readonly filter: KeyFilter;
  readonly onChange: (changes: KeyFilter) => void;
}

/** Search and order of the live keys. */
export function KeysToolbar({ filter, onChange }: KeysToolbarProps) {
  return (
    <>
      <label className="flex items-center gap-2">
        <span className="sr-only">Search keys</span>
        <input
          type="search"
          className="control w-52!"
          placeholder="Name, id or last four"
          value={filter.q ?? ''}
          onChange={({ currentTarget }) =>
            onChange({ q: currentTarget.value === '' ? undefined : currentTarget.value })
          }
        />
      </label>
      <Select
        label="Order"
        value={filter.order ?? 'newest'}
        options={OPTIONS}
        onChange={(value) => onChange({ order: KEY_ORDERS.find((order) => order === value) })}
      />
    </>
  );
}
