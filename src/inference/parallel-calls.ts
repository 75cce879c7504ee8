import { Logger } from '@nestjs/common';
import type { ProviderCall } from '../providers/contract/provider-call';
import { ProviderError } from '../providers/contract/provider-error';
import { wasNotBegun } from './attempt-policy';
import { mostUseful } from './route-failure';

const logger = new Logger('Attempts');

/**
 * Calls that together are one attempt, all at once. Resolves, when the last one has ended, with what those gave that
 * succeeded, in their order: work that is paid for is not thrown away because other work failed.
 * @throws ProviderError when none has succeeded: that one which best says what may be tried now.
 */
export async function callTogether<Answer>(
  call: ProviderCall,
  asks: readonly (() => Promise<Answer>)[],
): Promise<Answer[]> {
  const outcomes = await Promise.allSettled(asks.map((ask) => ask()));
  const answers = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
  const failures = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason as unknown] : []));
  if (answers.length === 0) throw joint(failures);
  for (const failure of failures) report(failure, call);
  return answers;
}

/** Nobody else may be asked when only one of the calls may have taken effect. */
function joint(failures: readonly unknown[]): unknown {
  const unexpected = failures.find((failure) => !(failure instanceof ProviderError));
  if (unexpected !== undefined) return unexpected;
  const known = failures as readonly ProviderError[];
  const begun = known.filter((failure) => !wasNotBegun(failure));
  return mostUseful(begun.length > 0 ? begun : known);
}

function report(failure: unknown, { requestId, publicModel }: ProviderCall): void {
  const message = 'a call failed among others that succeeded';
  if (!(failure instanceof ProviderError)) {
    logger.error({ message, requestId, model: publicModel, err: failure });
    return;
  }
  const { code, options } = failure;
  logger.warn({ message, requestId, model: publicModel, code, phase: options.phase, upstream: options.upstream });
}
