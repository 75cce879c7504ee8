import { formatDay, formatMoment } from '../../format/time';

/** When a price starts or ends: a day of UTC, with the time unless that is midnight. */
export function UtcTime({ time }: { readonly time: string }) {
  return (
    <time dateTime={time} className="whitespace-nowrap tabular-nums">
      {utcTimeText(time)}
    </time>
  );
}

export function utcTimeText(time: string): string {
  const isMidnight = new Date(time).getTime() % 86_400_000 === 0;
  return `${isMidnight ? formatDay(time) : formatMoment(time, 'utc')} UTC`;
}
