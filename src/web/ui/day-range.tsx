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
    <div role="group" aria-label="Days" className="flex flex-wrap items-center gap-2">
      <DayInput label="From" value={from} onChange={(day) => onChange({ from: day })} />
      <DayInput label="to" value={to} onChange={(day) => onChange({ to: day })} />
      <span className="text-muted">UTC</span>
    </div>
  );
}

interface DayInputProps {
  readonly label: string;
  readonly value: string | undefined;
  readonly onChange: (day: string | undefined) => void;
}

function DayInput({ label, value = '', onChange }: DayInputProps) {
  return (
    <label className="flex items-center gap-2 max-sm:w-full">
      <span className="text-muted max-sm:w-20 max-sm:shrink-0">{label}</span>
      <input
        type="date"
        className="control w-auto! max-sm:grow"
        value={value}
        max="9999-12-31"
        onChange={(event) => onChange(event.currentTarget.value === '' ? undefined : event.currentTarget.value)}
      />
    </label>
  );
}
