import { usePreferences } from '../app/preferences';
import { formatMoment, formatRelative, offsetName, zoneName } from '../format/time';

/** A moment in the reader's zone, or UTC by preference; the title has UTC. */
export function Moment({ time }: { readonly time: string }) {
  const { timeZone } = usePreferences();
  return (
    <time dateTime={time} title={`${formatMoment(time, 'utc')} UTC`} className="whitespace-nowrap tabular-nums">
      {formatMoment(time, timeZone)}
    </time>
  );
}

/** `3 hours ago`; the title has the moment. */
export function Ago({ time, none = 'never' }: { readonly time: string | null; readonly none?: string }) {
  const { timeZone } = usePreferences();
  if (time === null) return <span className="text-muted">{none}</span>;
  return (
    <time
      dateTime={time}
      title={`${formatMoment(time, timeZone)} ${offsetName(time, timeZone)}`}
      className="whitespace-nowrap"
    >
      {formatRelative(time)}
    </time>
  );
}

/** The head of a column of moments. */
export function TimeHead({ label = 'Time' }: { readonly label?: string }) {
  return <>{`${label} (${zoneName(usePreferences().timeZone)})`}</>;
}
