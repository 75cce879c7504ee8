import type { AuditEntry } from '../../../contract/dashboard';
import { usePreferences } from '../../app/preferences';
import { formatMicro } from '../../format/money';
import { formatZonedMoment, isTime, type TimeZone } from '../../format/time';

type State = AuditEntry['before'];

export interface FieldChange {
  readonly field: string;
  readonly before: unknown;
  readonly after: unknown;
}

/** The fields that differ between two states, sorted by name. */
export function fieldChanges(before: State, after: State): readonly FieldChange[] {
  const fields = new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})]);
  return [...fields]
    .toSorted()
    .map((field) => ({ field, before: before?.[field] ?? null, after: after?.[field] ?? null }))
    .filter((change) => JSON.stringify(change.before) !== JSON.stringify(change.after));
}

/** Before and after side by side, changed fields only. */
export function AuditChanges({ entry: { before, after } }: { readonly entry: AuditEntry }) {
  const { timeZone } = usePreferences();
  const changes = fieldChanges(before, after);
  if (changes.length === 0) return null;
  return (
    <table className="mt-2 w-full max-w-3xl table-fixed text-[0.8125rem]">
      <thead className="sr-only">
        <tr>
          <th scope="col">Field</th>
          <th scope="col">Before</th>
          <th scope="col">After</th>
        </tr>
      </thead>
      <tbody>
        {changes.map(({ field, before: old, after: next }) => (
          <tr key={field} className="border-t first:border-t-0">
            <th scope="row" className="w-1/3 py-1 pe-4 text-start align-top font-normal wrap-anywhere text-muted">
              {field.replace(/_micro$/, '').replaceAll('_', ' ')}
            </th>
            <td className="w-1/3 py-1 pe-4 align-top wrap-anywhere text-muted">{textOf(field, old, timeZone)}</td>
            <td className="w-1/3 py-1 align-top wrap-anywhere">
              <span aria-hidden="true" className="text-muted">
                →{' '}
              </span>
              {textOf(field, next, timeZone)}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** The value as it is, but amounts in dollars, times in the zone, and a dash for nothing. */
export function textOf(field: string, value: unknown, zone: TimeZone): string {
  if (value === null) return '–';
  if (
    field.endsWith('_micro') &&
    (typeof value === 'number' || typeof value === 'string') &&
    /^-?\d+$/.test(`${value}`)
  )
    return formatMicro(BigInt(value));
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (isTime(value)) return formatZonedMoment(value, zone);
  if (typeof value === 'string' || typeof value === 'number') return String(value);
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value.join(', ');
  return JSON.stringify(value);
}
