import type { GatewayError } from '../../core/errors/gateway-error';
import type { LimitKind, LimitPlan, LimitScope } from './limit-check';
import type { Verdict } from './limit-queue';

/** The state of one limit before a request. */
export interface LimitStanding {
  readonly scope: LimitScope;
  readonly kind: LimitKind;
  readonly limit: number;
  /** The remainder; `null` for limits of a model and of all callers, which would reveal the traffic of others. */
  readonly remaining: number | null;
  readonly wouldRefuse: boolean;
}

/** The predicted outcome of a request. */
export interface LimitOutlook {
  readonly limits: readonly LimitStanding[];
  /** The error that the client would get; `null`: the request would be admitted. */
  readonly refusal: GatewayError | null;
}

/** @param verdict of a dry run: the remainder includes the request itself, if it would be admitted */
export function limitStandings({ checks }: LimitPlan, { refusedBy, row }: Verdict, tokens: number): LimitStanding[] {
  const isLetIn = refusedBy === 0;
  return checks.map(({ scope, kind, limit }, index) => {
    const cost = kind === 'tokens_per_minute' ? tokens : 1;
    const left = row[2 * index + 2] as number;
    const remaining = isLetIn ? left + cost : left;
    const isOwn = scope === 'key' || scope === 'organization';
    const wouldRefuse = refusedBy === index + 1 || cost > remaining;
    return { scope, kind, limit, remaining: isOwn ? remaining : null, wouldRefuse };
  });
}
