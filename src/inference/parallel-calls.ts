import { Logger } from '@nestjs/common';
import type { ProviderCall } from '../providers/contract/provider-call';
import { ProviderError } from '../providers/contract/provider-error';
import { wasNotBegun } from './attempt-policy';
import { mostUseful } from './provider-failure';

const logger = new Logger('Attempts');

/**
 * Runs calls in parallel as one attempt. Resolves after the last call with the results of the successful ones, in
 * order: paid work is not discarded because another call failed.
 * @throws ProviderError when all calls fail: the failure that best determines the next step.
 */
export async function callTogether<Answer>(
  call: ProviderCall,
  asks: readonly (() => Promise<Answer>)[],
): Promise<Answer[]> {
  const outcomes = await Promise.allSettled(asks.map((ask) => ask()));
  const answers = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
  const failures = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason as unknown] : []));
  if (answers.length === 0) throw combinedFailure(failures);
  for (const failure of failures) report(failure, call);
  return answers;
}

/** A failure that may have taken effect wins, because it forbids another attempt. */
function combinedFailure(failures: readonly unknown[]): unknown {
  const unexpected = failures.find((failure) => !(failure instanceof ProviderError));
  if (unexpected !== undefined) return unexpected;
  const known = failures as readonly ProviderError[];
  const begun = known.filter((failure) => !wasNotBegun(failure));
  const unknown = begun.filter(({ options }) => options.outcomeUnknown === true);
  return mostUseful([unknown, begun].find(({ length }) => length > 0) ?? known);
}

function report(failure: unknown, { requestId, publicModel }: ProviderCall): void {
  const facts = {
    event: 'parallel_call_failed',
    message: 'a parallel call failed while others succeeded',
    request_id: requestId,
    model: publicModel,
  };
  if (!(failure instanceof ProviderError)) {
    logger.error({ ...facts, err: failure });
    return;
  }
  const { code, options } = failure;
  logger.warn({ ...facts, code, phase: options.phase, upstream: options.upstream });
}
