import type { ExplainedLimit } from '../../../contract/dashboard';
import { formatCount } from '../../format/count';
import { limitInWords } from './explain-words';

/** How much of a limit is left, as a bar and in words. */
export function LimitMeter({ limit: explained }: { readonly limit: ExplainedLimit }) {
  const { limit, remaining, refuses } = explained;
  const label = limitInWords(explained);
  const words =
    remaining === null
      ? `${formatCount(limit)}, shared with others`
      : `${formatCount(remaining)} of ${formatCount(limit)} left`;
  const share = remaining === null || limit === 0 ? 0 : (100 * remaining) / limit;
  return (
    <div>
      <div className="flex flex-wrap justify-between gap-x-4">
        <span>{label}</span>
        <span className={refuses ? 'font-medium text-bad' : 'text-muted'}>
          {words}
          {refuses && ', refuses'}
        </span>
      </div>
      {remaining !== null && (
        <div
          role="meter"
          aria-label={label}
          aria-valuemin={0}
          aria-valuemax={limit}
          aria-valuenow={remaining}
          aria-valuetext={words}
          className="mt-1 h-2 overflow-hidden rounded-full bg-sunken"
        >
          <div className={`h-full ${refuses ? 'bg-bad' : 'bg-accent'}`} style={{ width: `${share}%` }} />
        </div>
      )}
    </div>
  );
}
