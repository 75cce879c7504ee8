import { fieldError } from '../../api/field-error';
import { parseDollars, toInputDollars } from '../../format/money';
import { TextField } from '../../ui/form';

/** What the API takes for a limit: null removes it. */
type Limit = number | null;

interface LimitFieldProps {
  readonly name: string;
  readonly label: string;
  readonly value: Limit;
  /** What an empty field means. */
  readonly hint?: string;
  readonly min?: number;
  readonly max?: number;
}

/** A whole number; empty means none. */
export function LimitField({
  name,
  label,
  value,
  hint = 'Empty: no limit',
  min = 1,
  max = 2 ** 31 - 1,
}: LimitFieldProps) {
  return (
    <TextField
      name={name}
      label={label}
      hint={hint}
      type="number"
      inputMode="numeric"
      min={min}
      max={max}
      step={1}
      defaultValue={value ?? ''}
    />
  );
}

/** An amount in dollars; empty means none. */
export function DollarsField({
  name,
  label,
  value,
  hint,
  required,
}: LimitFieldProps & { readonly required?: boolean }) {
  return (
    <TextField
      name={name}
      label={label}
      hint={hint}
      inputMode="decimal"
      pattern="\d{1,10}(\.\d{1,6})?"
      title="Dollars with at most six decimals, for example 12.50"
      required={required}
      defaultValue={value === null ? '' : toInputDollars(value)}
    />
  );
}

export type FormValues = Readonly<Record<string, string>>;

export function limitOf(values: FormValues, name: string): Limit {
  const text = values[name]?.trim() ?? '';
  return text === '' ? null : Number(text);
}

/** @throws ApiError that marks the field. */
export function dollarsOf(values: FormValues, name: string): Limit {
  const text = values[name]?.trim() ?? '';
  if (text === '') return null;
  const micro = parseDollars(text);
  if (micro === null) throw fieldError(name, 'Enter an amount in dollars, for example 12.50.');
  return micro;
}

interface RateLimits {
  readonly requests_per_second: Limit;
  readonly requests_per_minute: Limit;
  readonly tokens_per_minute: Limit;
  readonly concurrency: Limit;
}

export const RATE_LIMIT_NAMES = [
  'requests_per_second',
  'requests_per_minute',
  'tokens_per_minute',
  'concurrency',
] as const;

export function RateLimitFields({ limits }: { readonly limits: RateLimits }) {
  return (
    <div className="grid gap-4 sm:grid-cols-2">
      <LimitField name="requests_per_second" label="Requests per second" value={limits.requests_per_second} />
      <LimitField name="requests_per_minute" label="Requests per minute" value={limits.requests_per_minute} />
      <LimitField name="tokens_per_minute" label="Tokens per minute" value={limits.tokens_per_minute} />
      <LimitField name="concurrency" label="Requests in flight" value={limits.concurrency} />
    </div>
  );
}

/** The entries of `next` that differ from `before`, so that a change names only what it changes. */
export function changedFields<T extends object>(before: T, next: Partial<T>): Partial<T> {
  return Object.fromEntries(
    Object.entries(next).filter(([name, value]) => before[name as keyof T] !== value),
  ) as Partial<T>;
}

export function rateLimitsOf(values: FormValues): RateLimits {
  return {
    requests_per_second: limitOf(values, 'requests_per_second'),
    requests_per_minute: limitOf(values, 'requests_per_minute'),
    tokens_per_minute: limitOf(values, 'tokens_per_minute'),
    concurrency: limitOf(values, 'concurrency'),
  };
}
