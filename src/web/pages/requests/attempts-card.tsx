import type { UsageReceipt } from '../../../contract/dashboard';
import { countOf, formatDuration } from '../../format/count';
import { attemptBars, attemptsMs } from '../../format/receipt';
import { Badge } from '../../ui/badge';
import { Card } from '../../ui/card';

/** The calls to providers on the time line of the request. */
export function AttemptsCard({ receipt }: { readonly receipt: UsageReceipt }) {
  const { attempts, attempt_count: count, total_ms: totalMs } = receipt;
  if (attempts.length === 0) {
    return (
      <Card title="Attempts">
        <p>No provider was called.</p>
      </Card>
    );
  }
  return (
    <Card
      title="Attempts"
      description={`${countOf(count, 'provider call')}, ${formatDuration(attemptsMs(attempts))} of ${formatDuration(totalMs)}${attempts.length < count ? '; only the last is known' : ''}`}
    >
      <ol className="mt-2 space-y-4">
        {attemptBars(attempts, totalMs).map(({ attempt, startPercent, lengthPercent }) => (
          <li key={attempt.number}>
            <div className="flex flex-wrap items-center justify-between gap-x-4 gap-y-1">
              <span className="flex min-w-0 flex-wrap items-center gap-2">
                <span className="font-medium">
                  {attempt.number}. {attempt.provider}
                </span>
                <Badge tone={attempt.outcome === 'success' ? 'good' : 'bad'}>{attempt.outcome}</Badge>
              </span>
              <span className="tabular-nums">{formatDuration(attempt.duration_ms)}</span>
            </div>
            <div aria-hidden="true" className="mt-1.5 h-2 rounded-full bg-sunken">
              <div
                className={`h-full min-w-1 rounded-full ${attempt.outcome === 'success' ? 'bg-good' : 'bg-bad'}`}
                style={{ marginInlineStart: `${Math.min(startPercent, 99)}%`, width: `${lengthPercent}%` }}
              />
            </div>
            <p className="mt-1 text-muted wrap-anywhere">
              {attempt.deployment_id}
              {attempt.started_ms !== null && `, called after ${formatDuration(attempt.started_ms)}`}
            </p>
          </li>
        ))}
      </ol>
    </Card>
  );
}
