import { useNavigate } from '@tanstack/react-router';
import type { UsageGrouping } from '../../../contract/dashboard';
import { GROUPINGS, SHOWN, usageSearch, type UsageSearch, type UsageView } from '../../api/usage-search';
import { oneOf } from '../../app/search-values';
import { isTime } from '../../format/latency';
import { startOfUtcDay } from '../../format/time';
import { DayInput } from '../../ui/day-range';
import { Select } from '../../ui/select';
import { GROUP_WORDS, METRIC_WORDS } from './usage-words';

const RANGE_WORDS = [
  ['24h', 'Last 24 hours'],
  ['7d', 'Last 7 days'],
  ['30d', 'Last 30 days'],
  ['90d', 'Last 90 days'],
  ['12m', 'Last 12 months'],
  ['days', 'Custom days'],
] as const;
const TIME_GROUPINGS: readonly UsageGrouping[] = ['none', 'model', 'modality'];
const CHOSEN_DAYS = 7;

/** What the page shows; all of it is in the address. */
export function UsageFilters({ view }: { readonly view: UsageView }) {
  const navigate = useNavigate({ from: '/o/$org/usage' });
  const change = (changes: UsageSearch): void =>
    void navigate({ search: (search) => usageSearch({ ...search, ...changes }), replace: true, resetScroll: false });
  const changeRange = (value: string): void => {
    const range = RANGE_WORDS.find(([each]) => each === value)?.[0] ?? '30d';
    if (range !== 'days') return change({ range, from: undefined, to: undefined, interval: undefined });
    const [from, to] = [startOfUtcDay(CHOSEN_DAYS - 1).slice(0, 10), startOfUtcDay().slice(0, 10)];
    return change({ range: undefined, from, to, interval: undefined });
  };
  return (
    <div className="mb-5 flex flex-wrap items-center gap-x-4 gap-y-2">
      <Select
        label="Metric"
        value={view.metric}
        options={SHOWN.map((metric) => [metric, METRIC_WORDS[metric]])}
        onChange={(value) => change({ metric: oneOf(value, SHOWN) })}
      />
      <Select
        label="Group by"
        value={view.group}
        options={(isTime(view.metric) ? TIME_GROUPINGS : GROUPINGS).map((group) => [group, GROUP_WORDS[group]])}
        onChange={(value) => change({ group: oneOf(value, GROUPINGS) })}
      />
      <Select label="Period" value={view.range} options={RANGE_WORDS} onChange={changeRange} />
      {view.range === 'days' && <Days view={view} onChange={change} />}
      {view.mayShowHours && (
        <Select
          label="Interval"
          value={view.interval}
          options={[
            ['hour', 'Hours'],
            ['day', 'Days'],
          ]}
          onChange={(value) => change({ interval: oneOf(value, ['hour', 'day']) })}
        />
      )}
      {!isTime(view.metric) && (
        <Select
          label="Chart"
          value={view.look}
          options={[
            ['columns', 'Columns'],
            ['lines', 'Lines'],
          ]}
          onChange={(value) => change({ look: oneOf(value, ['columns', 'lines']) })}
        />
      )}
    </div>
  );
}

function Days({ view, onChange }: { readonly view: UsageView; readonly onChange: (changes: UsageSearch) => void }) {
  const first = view.from.slice(0, 10);
  const lastTime = view.to === undefined ? startOfUtcDay() : new Date(Date.parse(view.to) - 1).toISOString();
  const last = lastTime.slice(0, 10);
  return (
    <>
      <DayInput
        label="From (UTC)"
        value={first}
        max={last}
        onChange={(from) => from !== undefined && onChange({ from })}
      />
      <DayInput label="To (UTC)" value={last} min={first} onChange={(to) => to !== undefined && onChange({ to })} />
    </>
  );
}
