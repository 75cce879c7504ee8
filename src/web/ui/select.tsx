interface SelectProps {
  /** Visible before the control in compact toolbars. */
  readonly label: string;
  readonly value: string;
  readonly options: ReadonlyArray<readonly [value: string, label: string]>;
  readonly onChange: (value: string) => void;
}

/** A labelled choice in a toolbar, outside of forms. */
export function Select({ label, value, options, onChange }: SelectProps) {
  return (
    <label className="flex max-w-full min-w-0 items-center gap-2 max-sm:w-full">
      <span className="text-muted max-sm:w-24 max-sm:shrink-0">{label}</span>
      <select
        className="control w-auto! max-w-72 min-w-0 max-sm:grow"
        value={value}
        onChange={(event) => onChange(event.currentTarget.value)}
      >
        {options.map(([option, text]) => (
          <option key={option} value={option}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}
