import { useFollowedValue } from './use-followed-value';

interface Days {
  /** `2026-11-23`, or none. */
  readonly from: string | undefined;
  /** The last day of the range. */
  readonly to: string | undefined;
}

interface DayRangeProps extends Days {
  readonly onChange: (changes: Partial<Days>) => void;
}

/** Days of UTC in a toolbar, both included. */
export function DayRange({ from, to, onChange }: DayRangeProps) {
  return (
    <div role="group" aria-label="Days" className="flex flex-wrap items-center gap-x-4 gap-y-2 max-sm:w-full">
      <DayInput label="From (UTC)" value={from} onChange={(day) => onChange({ from: day })} />
      <DayInput label="To (UTC)" value={to} onChange={(day) => onChange({ to: day })} />
    </div>
  );
}

interface DayInputProps {
  readonly label: string;
  /** `2026-11-23`, or none. */
  readonly value: string | undefined;
  readonly min?: string;
  readonly max?: string;
  readonly onChange: (day: string | undefined) => void;
}

/** A year of fewer digits is still being typed. */
const FIRST_DAY = '1000-01-01';

/** A day in a toolbar. */
export function DayInput({ label, value = '', min, max = '9999-12-31', onChange }: DayInputProps) {
  const ref = useFollowedValue(value);
  const apply = (day: string): void => {
    if (day === '') onChange(undefined);
    else if (day >= FIRST_DAY) onChange(day);
  };
  return (
    <label className="flex items-center gap-2 max-sm:w-full">
      <span className="text-muted max-sm:w-24 max-sm:shrink-0">{label}</span>
      <input
        ref={ref}
        type="date"
        className="control w-auto! max-sm:grow"
        defaultValue={value}
        min={min}
        max={max}
        onChange={(event) => apply(event.currentTarget.value)}
        onBlur={(event) => {
          // A day that was not applied is not in force either.
          event.currentTarget.value = value;
        }}
      />
    </label>
  );
}
