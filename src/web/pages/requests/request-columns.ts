import { setPreferences, usePreferences } from '../../app/preferences';
import { useCurrentUser } from '../../app/use-session';

/** Columns of the list of requests besides the time, in their order. */
export const COLUMN_WORDS = {
  model: 'Model',
  status: 'Status',
  cost: 'Cost',
  use: 'Tokens',
  first: 'First byte',
  total: 'Total',
  key: 'API key',
  provider: 'Provider',
  operation: 'Operation',
  calls: 'Calls',
  id: 'Request id',
} as const;
export type RequestColumn = keyof typeof COLUMN_WORDS;

export const REQUEST_COLUMNS = Object.keys(COLUMN_WORDS) as readonly RequestColumn[];
const USUAL: ReadonlySet<string> = new Set(['model', 'status', 'cost', 'use', 'first', 'total', 'key']);

interface RequestColumns {
  readonly shown: readonly RequestColumn[];
  readonly show: (column: RequestColumn, isShown: boolean) => void;
  /** Shows the usual columns again. */
  readonly reset: () => void;
}

/** The columns that the user has chosen in this browser. */
export function useRequestColumns(): RequestColumns {
  const { id } = useCurrentUser();
  const { requestColumns } = usePreferences();
  const { [id]: own, ...others } = requestColumns;
  const chosen: ReadonlySet<string> = own === undefined ? USUAL : new Set(own);
  return {
    shown: REQUEST_COLUMNS.filter((column) => chosen.has(column)),
    show: (column, isShown) => {
      const next = REQUEST_COLUMNS.filter((each) => (each === column ? isShown : chosen.has(each)));
      setPreferences({ requestColumns: { ...others, [id]: next } });
    },
    reset: () => setPreferences({ requestColumns: others }),
  };
}
