import { TriangleAlert } from 'lucide-react';
import { formatMicro, formatTenths, shareInTenths } from '../format/money';

interface BudgetMeterProps {
  readonly label: string;
  readonly spentMicro: number;
  readonly heldMicro?: number;
  readonly limitMicro: number | null;
}

const WARN_AT_TENTHS = 800;
const FULL_AT_TENTHS = 1000;

/** How much of a budget is spent and held, as a bar and in words. */
export function BudgetMeter({ label, spentMicro, heldMicro = 0, limitMicro }: BudgetMeterProps) {
  if (limitMicro === null) {
    return (
      <p>
        {label}: {formatMicro(spentMicro)} <span className="text-muted">(no limit)</span>
      </p>
    );
  }
  const used = BigInt(spentMicro) + BigInt(heldMicro);
  const tenths = shareInTenths(used, BigInt(limitMicro)) ?? FULL_AT_TENTHS;
  const word = tenths >= FULL_AT_TENTHS ? 'used up' : tenths >= WARN_AT_TENTHS ? 'nearly used up' : null;
  const width = (micro: bigint): string => `${Math.min(shareInTenths(micro, BigInt(limitMicro)) ?? 1000, 1000) / 10}%`;
  return (
    <div>
      <div className="flex flex-wrap justify-between gap-x-4">
        <span>{label}</span>
        <span className={word === null ? 'text-muted' : 'flex items-center gap-1 font-medium text-warn'}>
          {word !== null && <TriangleAlert size={14} aria-hidden="true" />}
          {formatMicro(used)} of {formatMicro(limitMicro)} ({formatTenths(tenths)}){word !== null && `, ${word}`}
        </span>
      </div>
      <div
        role="meter"
        aria-label={label}
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuenow={Math.min(tenths, FULL_AT_TENTHS) / 10}
        aria-valuetext={`${formatMicro(spentMicro)} spent, ${formatMicro(heldMicro)} held, of ${formatMicro(limitMicro)}`}
        className="mt-1 flex h-2 overflow-hidden rounded-full bg-sunken"
      >
        <div
          className={tenths >= WARN_AT_TENTHS ? 'bg-warn' : 'bg-accent'}
          style={{ width: width(BigInt(spentMicro)) }}
        />
        <div className="bg-series-other" style={{ width: width(BigInt(heldMicro)) }} />
      </div>
    </div>
  );
}
