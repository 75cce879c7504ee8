import { keySearchOf } from '../../api/key-search';
import { SearchBox } from '../../ui/search-box';
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
      <SearchBox
        label="Search keys"
        placeholder="Name, id or last four"
        value={filter.q ?? ''}
        onChange={(text) => onChange({ q: keySearchOf(text) })}
      />
      <Select
        label="Order"
        value={filter.order ?? 'newest'}
        options={OPTIONS}
        onChange={(value) => onChange({ order: KEY_ORDERS.find((order) => order === value) })}
      />
    </>
  );
}
