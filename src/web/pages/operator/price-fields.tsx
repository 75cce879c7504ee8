import { useState } from 'react';
import { formatMicro, parseDollars, toInputDollars } from '../../format/money';
import { Badge } from '../../ui/badge';
import { TextField } from '../../ui/form';
import type { PriceAmount } from './price-content';

/** The name of the field, as errors of the API name it. */
export function fieldName({ path }: PriceAmount): string {
  return `price.${path}`;
}

interface PriceFieldsProps {
  readonly amounts: readonly PriceAmount[];
  /** Whether the amounts are those in force, to compare with. */
  readonly hasPresent: boolean;
}

/** A field for each amount, in dollars. Token classes without a rate are at the end, out of the way. */
export function PriceFields({ amounts, hasPresent }: PriceFieldsProps) {
  const shown = amounts.filter(({ micro, required }) => required || micro !== null);
  const others = amounts.filter((amount) => !shown.includes(amount));
  const fields = (list: readonly PriceAmount[]) => (
    <div className="grid gap-x-4 gap-y-3 sm:grid-cols-2">
      {list.map((amount) => (
        <AmountField key={amount.path} amount={amount} hasPresent={hasPresent} />
      ))}
    </div>
  );
  return (
    <fieldset className="space-y-3">
      <legend className="sr-only">Amounts</legend>
      {fields(shown)}
      {others.length > 0 && (
        <details>
          <summary className="w-fit text-muted">Other token classes</summary>
          <p className="my-2 text-muted">Token classes without a rate cost the same as plain input or output.</p>
          {fields(others)}
        </details>
      )}
    </fieldset>
  );
}

interface AmountFieldProps {
  readonly amount: PriceAmount;
  readonly hasPresent: boolean;
}

function AmountField({ amount, hasPresent }: AmountFieldProps) {
  const { label, per, micro, required } = amount;
  const [text, setText] = useState(micro === null ? '' : toInputDollars(micro));
  const isChanged = hasPresent && parseDollars(text) !== micro && (text !== '' || micro !== null);
  const present = micro === null ? 'none now' : `${formatMicro(micro)} now`;
  return (
    <TextField
      name={fieldName(amount)}
      label={
        <>
          {label} {isChanged && <Badge tone="warn">changed</Badge>}
        </>
      }
      hint={`Dollars per ${per}${hasPresent ? `, ${present}` : ''}`}
      inputMode="decimal"
      pattern="\d{1,10}(\.\d{1,6})?"
      title="Dollars with at most six decimals, for example 0.25"
      required={required}
      value={text}
      onChange={(event) => setText(event.currentTarget.value)}
    />
  );
}
