interface ChoiceFieldProps {
  readonly label: string;
  /** Undefined: the model does not restrict the option, so it is not offered. */
  readonly options: readonly string[] | undefined;
  /** Empty: the model's default. */
  readonly value: string;
  readonly onChange: (value: string) => void;
  /** Whether the model's own default can be chosen. */
  readonly required?: boolean;
}

/** One of the values that a model accepts. */
export function ChoiceField({ label, options, value, onChange, required = false }: ChoiceFieldProps) {
  if (options === undefined || options.length === 0) return null;
  return (
    <label className="flex min-w-0 flex-col gap-1">
      <span className="font-medium">{label}</span>
      <select className="control" value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        {!required && <option value="">Default</option>}
        {options.map((option) => (
          <option key={option} value={option}>
            {option}
          </option>
        ))}
      </select>
    </label>
  );
}
