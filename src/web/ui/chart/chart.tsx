import { lazy, Suspense, useState, type ReactNode } from 'react';
import { Button } from '../button';
import { Skeleton } from '../skeleton';
import type { ChartData } from './chart-data';

const plots = () => import('./plots');
const ColumnPlot = lazy(() => plots().then((module) => ({ default: module.ColumnPlot })));
const LinePlot = lazy(() => plots().then((module) => ({ default: module.LinePlot })));
const SparklinePlot = lazy(() => plots().then((module) => ({ default: module.SparklinePlot })));

interface ChartProps {
  /** Accessible name, unique on the page. */
  readonly label: string;
  readonly data: ChartData;
  /** A sentence that says the same as the chart. */
  readonly summary: string;
  /** The same values as a table. */
  readonly table: ReactNode;
  readonly look?: 'columns' | 'lines';
  /** Half as high, above a list that matters more. */
  readonly low?: boolean;
  /** Called with the index of the bucket that was clicked; the table needs the same as links. */
  readonly onPick?: (bucket: number) => void;
}

/** Stacked columns or lines, with a legend, a sentence and a table. The library loads with the first chart. */
export function Chart({ label, data, summary, table, look = 'columns', low = false, onPick }: ChartProps) {
  const [asTable, setAsTable] = useState(false);
  const Plot = look === 'columns' ? ColumnPlot : LinePlot;
  return (
    <figure aria-label={label}>
      <div className="mb-3 flex flex-wrap items-start justify-between gap-x-6 gap-y-2">
        <figcaption className="max-w-3xl text-muted">{summary}</figcaption>
        {data.series.length > 0 && (
          <Button variant="quiet" small onClick={() => setAsTable(!asTable)}>
            {asTable ? 'Show as chart' : 'Show as table'}
          </Button>
        )}
      </div>
      {data.series.length === 0 ? null : asTable ? (
        <div className="max-h-96 overflow-y-auto rounded-xl border">{table}</div>
      ) : (
        <>
          <div className={low ? 'h-32' : 'h-64'}>
            <Suspense fallback={<Skeleton className="h-full w-full" />}>
              <Plot data={data} label={`${label}; arrow keys read it`} onPick={onPick} />
            </Suspense>
          </div>
          <Legend data={data} />
        </>
      )}
    </figure>
  );
}

function Legend({ data: { series, format } }: { readonly data: ChartData }) {
  if (series.length < 2) return null;
  return (
    <ul className="mt-3 flex flex-wrap gap-x-5 gap-y-1">
      {series.map(({ label, color, total }) => (
        <li key={label} className="flex min-w-0 items-center gap-2">
          <span aria-hidden="true" className="size-2.5 shrink-0 rounded-sm" style={{ background: color }} />
          <span className="truncate">{label}</span>
          <span className="text-muted tabular-nums">{format(total)}</span>
        </li>
      ))}
    </ul>
  );
}

/** The course of a figure that stands next to it, which is why readers of the page do without. */
export function Sparkline({ values, color }: { readonly values: readonly bigint[]; readonly color: string }) {
  return (
    <div aria-hidden="true" className="h-9 w-28">
      <Suspense fallback={null}>
        <SparklinePlot values={values} color={color} />
      </Suspense>
    </div>
  );
}
