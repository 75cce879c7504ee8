import type { GatewayError } from '../common/errors/gateway-error';
import type { LimitKind, LimitPlan, LimitScope } from './limit-check';
import type { Verdict } from './limit-queue';

/** How one limit stands before a request. */
export interface LimitStanding {
  readonly scope: LimitScope;
  readonly kind: LimitKind;
  readonly limit: number;
  /** What is left of it; `null` for limits of a model and of everybody: what others do is nobody's business. */
  readonly remaining: number | null;
  readonly wouldRefuse: boolean;
}

/** How a request would fare. */
export interface LimitOutlook {
  readonly limits: readonly LimitStanding[];
  /** What its client would get; `null`: it would be let in. */
  readonly refusal: GatewayError | null;
}

/** @param verdict of a look: what is left counts the request itself, if it would be let in */
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
