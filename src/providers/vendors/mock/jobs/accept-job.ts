import type { Clock } from '../../../../core/time/clock';
import type { ProviderCall } from '../../../contract/provider-call';
import { transportFailure } from '../../../kit/transport-error';
import { CallTimer } from '../call-timer';
import type { Script } from '../script';
import { untilReply } from '../scripted-wait';
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
  if (!(await goesWrong(script, directory, call.requestId, 'submit'))) {
    await accept();
    return;
  }
  if (script.unreachable === true) throw transportFailure('connect', new Error('Scripted failure.'));
  if (script.accept === true) await accept();
  await untilReply(script, timer, clock, 0);
  if (script.accept !== true) await accept();
}

/** Scripted faults with a number of times are counted where all processes see them. */
export async function goesWrong(
  { times }: Script,
  directory: JobDirectory,
  id: string,
  what: 'submit' | 'open',
): Promise<boolean> {
  return times === undefined || (await directory.countTry(id, what)) <= times;
}
