import type { UsageGrouping } from '../../../contract/dashboard';
import type { RequestSearch } from '../../api/request-search';
import type { Time } from '../../format/latency';
import { OTHER, type Columns, type Metric } from '../../format/series';
import { OTHER_COLOR, seriesColor } from '../../ui/chart/chart-data';

export const METRIC_WORDS: Readonly<Record<Metric | Time, string>> = {
  cost: 'Cost',
  requests: 'Requests',
  errors: 'Errors',
  input_tokens: 'Input tokens',
  output_tokens: 'Output tokens',
  first_token_ms: 'First token',
  total_ms: 'Total time',
};

export const GROUP_WORDS: Readonly<Record<UsageGrouping, string>> = {
  none: 'Nothing',
  model: 'Model',
  key: 'API key',
  modality: 'Modality',
  operation: 'Operation',
  status: 'Status',
  error_code: 'Error code',
};

/** Name of a group; keys have ids in replies. */
export function groupLabel(group: string, grouping: UsageGrouping, keyLabel: (id: string) => string): string {
  if (group === OTHER) return 'Other';
  if (grouping === 'none') return 'All requests';
  if (grouping === 'key') return keyLabel(group);
  if (grouping === 'status' && group !== 'success') return 'Error';
  return group === 'success' ? 'Success' : group;
}

/** The filter of the requests page for a group; null where there is none. */
export function groupFilter(group: string, grouping: UsageGrouping): RequestSearch | null {
  switch (grouping) {
    case 'none':
      return {};
    case 'model':
      return group === OTHER ? null : { model: group };
    case 'key':
      return group === OTHER ? null : { key_id: group };
    case 'modality':
      return { modality: group as RequestSearch['modality'] };
    case 'operation':
      return { operation: group as RequestSearch['operation'] };
    case 'status':
      return { status: group === 'success' ? 'success' : 'error' };
    case 'error_code':
      // The code of a disconnect is not in receipts.
      if (group === 'canceled') return null;
      return group === 'success' ? { status: 'success' } : { error_code: group };
  }
}

/** Colours by the rank in the reply; errors have that of errors. */
export function groupColor(group: string, rank: number): string {
  if (group === OTHER) return OTHER_COLOR;
  return group === 'error' ? 'var(--color-bad)' : seriesColor(rank);
}

/** The series of a chart: groups without any value are left out, and the others keep their colours. */
export function chartSeries({ groups }: Columns, labelOf: (group: string) => string) {
  return groups
    .map(({ name, values, total }, rank) => ({ label: labelOf(name), color: groupColor(name, rank), values, total }))
    .filter(({ total }) => total !== 0n);
}
