import type { Clock } from '../../../../core/time/clock';
import type { ProviderCall } from '../../../contract/provider-call';
import { ProviderError } from '../../../contract/provider-error';
import { mapUpstreamError, transportFailure } from '../../../kit/upstream-errors';
import { CallTimer } from '../call-timer';
import type { Script } from '../script';
import { waitForReply } from '../scripted-fault';
import type { JobDirectory } from './job-directory';
import type { JobSubmission } from './job-record';

/** Accepts a job before or after its scripted fault, or not at all. Resolves when the response is ready. */
export async function acceptJob(
  submission: JobSubmission,
  { directory, clock }: { readonly directory: JobDirectory; readonly clock: Clock },
  call: ProviderCall,
): Promise<void> {
  const timer = new CallTimer(call, clock);
  const { script } = submission;
  const accept = () => directory.accept({ ...submission, acceptedAtMs: clock.now() });
  if (!(await shouldFail(script, directory, call.requestId, 'submit'))) {
    await accept();
    return;
  }
  if (script.unreachable === true) throw transportFailure('connect', new Error('Scripted failure.'));
  if (script.accept === true) await accept();
  await waitForReply(script, timer, clock, 0);
  if (script.accept !== true) await accept();
}

/** Scripted faults with a number of times are counted where all processes see them. */
export async function shouldFail(
  { times }: Script,
  directory: JobDirectory,
  id: string,
  what: 'submit' | 'open',
): Promise<boolean> {
  return times === undefined || (await directory.countTry(id, what)) <= times;
}

/** Runs a call to the provider. An unusable directory counts as an unreachable provider. */
export async function withProviderErrors<Value>(work: () => Promise<Value>): Promise<Value> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof ProviderError ? error : transportFailure('headers', error);
  }
}

/** The error for an upstream response with this status. */
export function responseError(status: number, nowMs: number): ProviderError {
  const body = Buffer.from(JSON.stringify({ error: { message: 'No such thing.', type: 'error', code: status } }));
  return mapUpstreamError({ status, headers: {}, body, phase: 'first_token', now: nowMs });
}
