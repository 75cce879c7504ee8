import { formatMicro, formatTenths, shareInTenths, sumMicro } from '../../format/money';
import { Amount } from '../../ui/amount';

interface BudgetCellProps {
  /** For example `Spending of staging this month`. */
  readonly label: string;
  readonly spentMicro: number;
  readonly heldMicro: number;
  readonly limitMicro: number | null;
}

const WARN_AT_TENTHS = 800;
const FULL_AT_TENTHS = 1000;

/** Spending in a table, with a bar when there is a budget. */
export function BudgetCell({ label, spentMicro, heldMicro, limitMicro }: BudgetCellProps) {
  const used = sumMicro([spentMicro, heldMicro]);
  const held = heldMicro > 0 && <div className="text-xs text-muted">{formatMicro(heldMicro)} of it held</div>;
  if (limitMicro === null) {
    return (
      <>
        <Amount micro={used} />
        {held}
      </>
    );
  }
  const tenths = Math.min(shareInTenths(used, BigInt(limitMicro)) ?? FULL_AT_TENTHS, FULL_AT_TENTHS);
  const isTight = tenths >= WARN_AT_TENTHS;
  return (
    <div className="ms-auto w-fit min-w-36">
      <div className="whitespace-nowrap">
        <Amount micro={used} /> <span className="text-muted">of {formatMicro(limitMicro)}</span>
      </div>
      <div
        role="meter"
        aria-label={label}
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuenow={tenths / 10}
        aria-valuetext={formatTenths(tenths)}
        className="mt-1 h-1.5 overflow-hidden rounded-full bg-sunken"
      >
        <div className={`h-full ${isTight ? 'bg-warn' : 'bg-accent'}`} style={{ width: `${tenths / 10}%` }} />
      </div>
      {held}
      {isTight && (
        <div className="text-xs font-medium text-warn">{tenths >= FULL_AT_TENTHS ? 'used up' : 'nearly used up'}</div>
      )}
    </div>
  );
}
