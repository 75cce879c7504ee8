import { usePreferences } from '../app/preferences';
import { formatMoment, formatRelative, formatZonedMoment, zoneName } from '../format/time';

interface MomentProps {
  readonly time: string;
  /** With the zone, where no head of a column and no sentence nearby names it. */
  readonly zoned?: boolean;
}

/** A moment in the reader's zone, or UTC by preference; the title has UTC. */
export function Moment({ time, zoned = false }: MomentProps) {
  const { timeZone } = usePreferences();
  return (
    <time
      dateTime={time}
      title={formatZonedMoment(time, 'utc')}
      className={`tabular-nums ${zoned ? '' : 'whitespace-nowrap'}`}
    >
      {zoned ? formatZonedMoment(time, timeZone) : formatMoment(time, timeZone)}
    </time>
  );
}

/** Date and time, on two lines where there is little room. */
export function NarrowMoment({ time }: { readonly time: string }) {
  return (
    <span className="block max-md:w-21 max-md:[&>time]:whitespace-normal">
      <Moment time={time} />
    </span>
  );
}

/** `3 hours ago`; the title has the moment. */
export function Ago({ time, none = 'never' }: { readonly time: string | null; readonly none?: string }) {
  const { timeZone } = usePreferences();
  if (time === null) return <span className="text-muted">{none}</span>;
  return (
    <time dateTime={time} title={formatZonedMoment(time, timeZone)} className="whitespace-nowrap">
      {formatRelative(time)}
    </time>
  );
}

/** The head of a column of moments. A long name of a zone takes more lines, so that it never widens its column. */
export function TimeHead({ label = 'Time' }: { readonly label?: string }) {
  const { timeZone } = usePreferences();
  return <span className="wrap-anywhere whitespace-normal">{`${label} (${zoneName(timeZone)})`}</span>;
}
