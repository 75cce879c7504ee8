import type { ChartData } from './chart-data';

interface PlotTooltipProps {
  readonly data: ChartData;
  readonly active: boolean | undefined;
  readonly index: unknown;
  /** Whether the values add up. */
  readonly stacked?: boolean;
}

/** The values of one bucket; the arrow keys read them out. */
export function PlotTooltip({ data, active, index, stacked = false }: PlotTooltipProps) {
  const bucket = Number(index ?? Number.NaN);
  const label = data.buckets[bucket];
  if (active !== true || label === undefined) return null;
  const values = data.series.map((series) => ({ ...series, value: series.values[bucket] ?? 0n }));
  const shown = values.filter(({ value }) => value !== 0n);
  const total = values.reduce((sum, { value }) => sum + value, 0n);
  return (
    <div role="status" className="max-w-80 rounded-lg border bg-surface px-3 py-2 text-ink shadow-raised">
      <p className="font-medium">{label} UTC</p>
      {shown.length === 0 && <p className="text-muted">{data.format(0n)}</p>}
      <ul>
        {shown.map(({ label: name, color, value }) => (
          <li key={name} className="flex items-center gap-2">
            <span aria-hidden="true" className="size-2.5 shrink-0 rounded-sm" style={{ background: color }} />
            <span className="grow truncate">{name}</span>
            <span className="ps-3 tabular-nums">{data.format(value)}</span>
          </li>
        ))}
      </ul>
      {stacked && shown.length > 1 && (
        <p className="mt-1 flex justify-between gap-5 border-t pt-1 font-medium">
          <span>Total</span>
          <span className="tabular-nums">{data.format(total)}</span>
        </p>
      )}
    </div>
  );
}
