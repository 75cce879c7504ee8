import {
  Area,
  AreaChart,
  CartesianGrid,
  Line,
  LineChart,
  Tooltip,
  usePlotArea,
  XAxis,
  YAxis,
  type AreaRevealShapeProps,
} from 'recharts';
import type { ChartData } from './chart-data';
import { PlotTooltip } from './plot-tooltip';

export interface PlotProps {
  readonly data: ChartData;
  /** Accessible name. */
  readonly label: string;
  /** Called with the index of the bucket that was clicked. */
  readonly onPick?: (bucket: number) => void;
}

interface Row {
  readonly label: string;
  readonly values: readonly (number | null)[];
}

/** Pixels of the plot: only here are values numbers that may be rounded. */
function rowsOf({ buckets, series }: ChartData): Row[] {
  return buckets.map((label, index) => ({ label, values: series.map(({ values }) => toPixels(values[index])) }));
}

function toPixels(value: bigint | null | undefined): number | null {
  return value == null ? null : Number(value);
}

const MARGIN = { top: 8, right: 8, bottom: 0, left: 0 };
const FULL = { width: '100%', height: '100%' };
const TICK = { fill: 'var(--color-muted)', fontSize: 12 };
const DIGIT_PX = 7;

function axes({ ticks, formatTick }: ChartData) {
  const width = Math.max(...ticks.map((tick) => formatTick(tick).length)) * DIGIT_PX + 12;
  return (
    <>
      <CartesianGrid vertical={false} stroke="var(--color-line)" />
      <XAxis
        dataKey="label"
        scale="band"
        allowDuplicatedCategory
        tickLine={false}
        stroke="var(--color-edge)"
        tick={TICK}
        minTickGap={28}
        interval="preserveStartEnd"
      />
      <YAxis
        width={width}
        domain={[0, Number(ticks.at(-1) ?? 1n)]}
        ticks={ticks.map(Number)}
        // By value: ticks without room are left out.
        tickFormatter={(value) => formatTick(ticks.find((tick) => Number(tick) === value) ?? 0n)}
        tickLine={false}
        axisLine={false}
        tick={TICK}
      />
    </>
  );
}

function chartProps({ data, label, onPick }: PlotProps) {
  return {
    data: rowsOf(data),
    margin: MARGIN,
    responsive: true,
    style: onPick === undefined ? FULL : { ...FULL, cursor: 'pointer' },
    accessibilityLayer: true,
    'aria-label': label,
    onClick: ({ activeTooltipIndex }: { readonly activeTooltipIndex?: unknown }) => {
      const index = Number(activeTooltipIndex ?? Number.NaN);
      if (Number.isInteger(index)) onPick?.(index);
    },
  };
}

/** Stacked columns, one path for each series, however many buckets there are. */
export function ColumnPlot(props: PlotProps) {
  const { data } = props;
  return (
    <AreaChart {...chartProps(props)}>
      {axes(data)}
      <Tooltip
        isAnimationActive={false}
        cursor={<BucketCursor count={data.buckets.length} />}
        content={({ active, activeIndex }) => <PlotTooltip data={data} active={active} index={activeIndex} stacked />}
      />
      {data.series.map(({ label, color }, index) => (
        <Area
          key={label}
          name={label}
          dataKey={(row: Row) => row.values[index]}
          stackId="all"
          type="linear"
          fill={color}
          stroke="none"
          isAnimationActive={false}
          activeDot={false}
          shape={ColumnShape}
        />
      ))}
    </AreaChart>
  );
}

const MIN_WIDTH_WITH_GAP_PX = 5;

/** Rectangles around the points of an area, as one path. */
function ColumnShape({ points = [], baseLine, fill }: AreaRevealShapeProps) {
  const plot = usePlotArea();
  if (plot === undefined) return null;
  const band = plot.width / points.length;
  const width = band < MIN_WIDTH_WITH_GAP_PX ? band : Math.min(band * 0.78, band - 2);
  const path = points.map(({ x, y }, index) => {
    const base = typeof baseLine === 'object' ? baseLine[index]?.y : baseLine;
    if (x === null || y === null || base == null || base - y <= 0) return '';
    return `M${round(x - width / 2)},${round(base)}V${round(y)}h${round(width)}V${round(base)}z`;
  });
  return <path d={path.join('')} fill={fill} />;
}

function round(pixels: number): number {
  return Math.round(pixels * 100) / 100;
}

/** Marks the bucket under the pointer, or that the arrow keys have reached. */
function BucketCursor({
  points,
  count,
}: {
  readonly points?: readonly { readonly x: number }[];
  readonly count: number;
}) {
  const plot = usePlotArea();
  const x = points?.[0]?.x;
  if (plot === undefined || x === undefined) return null;
  const width = plot.width / count;
  return (
    <rect x={x - width / 2} y={plot.y} width={width} height={plot.height} fill="var(--color-edge)" fillOpacity={0.22} />
  );
}

/** A line for each series. */
export function LinePlot(props: PlotProps) {
  const { data } = props;
  return (
    <LineChart {...chartProps(props)}>
      {axes(data)}
      <Tooltip
        isAnimationActive={false}
        cursor={{ stroke: 'var(--color-edge)' }}
        content={({ active, activeIndex }) => <PlotTooltip data={data} active={active} index={activeIndex} />}
      />
      {data.series.map(({ label, color, values }, index) => (
        <Line
          key={label}
          name={label}
          dataKey={(row: Row) => row.values[index]}
          type="linear"
          stroke={color}
          strokeWidth={2}
          // A value between two gaps has no line.
          dot={data.buckets.length === 1 || values.includes(null)}
          isAnimationActive={false}
        />
      ))}
    </LineChart>
  );
}

/** A line without axes, next to a figure that it belongs to. */
export function SparklinePlot({ values, color }: { readonly values: readonly bigint[]; readonly color: string }) {
  return (
    <AreaChart
      data={values.map((value) => ({ value: Number(value) }))}
      margin={{ top: 2, right: 2, bottom: 2, left: 2 }}
      responsive
      style={FULL}
      accessibilityLayer={false}
    >
      <Area
        dataKey="value"
        type="linear"
        stroke={color}
        strokeWidth={1.5}
        fill={color}
        fillOpacity={0.12}
        isAnimationActive={false}
      />
    </AreaChart>
  );
}
