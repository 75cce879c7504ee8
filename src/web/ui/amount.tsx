import { formatMicro, formatSignedMicro, splitAtCents, type MicroAmount } from '../format/money';

interface AmountProps {
  readonly micro: MicroAmount | bigint;
  readonly signed?: boolean;
  /** Smaller digits below a cent, for tiles. */
  readonly large?: boolean;
}

/** An exact amount in dollars; its title has the micro-units. */
export function Amount({ micro, signed = false, large = false }: AmountProps) {
  const text = signed ? formatSignedMicro(micro) : formatMicro(micro);
  const [cents, below] = large ? splitAtCents(text) : [text, ''];
  return (
    <span title={`${micro} micro-dollars`} className={`tabular-nums ${signed ? 'whitespace-nowrap' : ''}`}>
      {cents}
      {below !== '' && <span className="text-[0.7em] font-medium text-muted">{below}</span>}
    </span>
  );
}
