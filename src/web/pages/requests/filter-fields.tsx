import { useId, useState, type ReactNode } from 'react';
import { momentOf } from '../../app/search-values';
import { fromUtcInput, LATEST_UTC_INPUT, toUtcInput } from '../../format/time';
import { useFollowedValue } from '../../ui/use-followed-value';

export function Labelled({
  label,
  id,
  children,
}: {
  readonly label: string;
  readonly id: string;
  readonly children: ReactNode;
}) {
  return (
    <div className="min-w-0">
      <label htmlFor={id} className="mb-1 block text-muted">
        {label}
      </label>
      {children}
    </div>
  );
}

interface ChoiceProps {
  readonly label: string;
  readonly value: string;
  /** Text of the choice without a filter. */
  readonly none: string;
  readonly options: ReadonlyArray<readonly [value: string, label: string]>;
  readonly onChange: (value: string) => void;
}

export function Choice({ label, value, none, options, onChange }: ChoiceProps) {
  const id = useId();
  return (
    <Labelled label={label} id={id}>
      <select id={id} className="control" value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        <option value="">{none}</option>
        {options.map(([option, text]) => (
          <option key={option} value={option}>
            {text}
          </option>
        ))}
      </select>
    </Labelled>
  );
}

interface TextProps {
  readonly label: string;
  readonly value: string;
  readonly suggestions: readonly string[];
  readonly onChange: (value: string) => void;
}

/** Text that filters with Enter, when the field is left, and when a suggestion is chosen. */
export function TextFilter({ label, value, suggestions, onChange }: TextProps) {
  const id = useId();
  const ref = useFollowedValue(value);
  const submit = (text: string): void => {
    if (text.trim() !== value) onChange(text.trim());
  };
  return (
    <Labelled label={label} id={id}>
      <input
        ref={ref}
        id={id}
        className="control"
        list={`${id}-suggestions`}
        defaultValue={value}
        placeholder="All"
        onChange={({ currentTarget: { value: text } }) => {
          if (text === '' || suggestions.includes(text)) submit(text);
        }}
        onKeyDown={(event) => event.key === 'Enter' && submit(event.currentTarget.value)}
        onBlur={(event) => submit(event.currentTarget.value)}
      />
      <datalist id={`${id}-suggestions`}>
        {suggestions.map((each) => (
          <option key={each} value={each}>
            {each}
          </option>
        ))}
      </datalist>
    </Labelled>
  );
}

interface NumberProps {
  readonly label: string;
  /** As the field shows it; empty: no filter. */
  readonly value: string;
  /** What the field takes, shown when it does not. */
  readonly hint: string;
  /** Null for text that is not such a number. */
  readonly parse: (text: string) => number | null;
  readonly onChange: (value: number | undefined) => void;
}

/** A lower bound that filters with Enter and when the field is left. */
export function NumberFilter({ label, value, hint, parse, onChange }: NumberProps) {
  const id = useId();
  const ref = useFollowedValue(value);
  const [isWrong, setWrong] = useState(false);
  const submit = (text: string): void => {
    const number = text === '' ? undefined : parse(text);
    setWrong(number === null);
    if (number !== null && text !== value) onChange(number);
  };
  return (
    <Labelled label={label} id={id}>
      <input
        ref={ref}
        id={id}
        className="control"
        inputMode="decimal"
        defaultValue={value}
        placeholder="Any"
        aria-invalid={isWrong || undefined}
        aria-describedby={isWrong ? `${id}-hint` : undefined}
        onKeyDown={(event) => event.key === 'Enter' && submit(event.currentTarget.value.trim())}
        onBlur={(event) => submit(event.currentTarget.value.trim())}
      />
      {isWrong && (
        <p id={`${id}-hint`} role="alert" className="mt-1 text-xs text-bad">
          {hint}
        </p>
      )}
    </Labelled>
  );
}

interface TimeProps {
  readonly label: string;
  readonly value: string | undefined;
  readonly onChange: (value: string | undefined) => void;
}

export function TimeFilter({ label, value, onChange }: TimeProps) {
  const id = useId();
  const shown = value === undefined ? '' : toUtcInput(value);
  const ref = useFollowedValue(shown);
  return (
    <Labelled label={label} id={id}>
      <input
        ref={ref}
        id={id}
        type="datetime-local"
        className="control w-auto!"
        max={LATEST_UTC_INPUT}
        defaultValue={shown}
        onBlur={({ currentTarget: field }) => {
          const { value: text, validity } = field;
          const time = text === '' ? undefined : momentOf(fromUtcInput(text));
          // What is incomplete or outside of the times of the API is not in force either.
          if (validity.badInput || (text !== '' && time === undefined)) field.value = shown;
          else if (text !== shown) onChange(time);
        }}
      />
    </Labelled>
  );
}
