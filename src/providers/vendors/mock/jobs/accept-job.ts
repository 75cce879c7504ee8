import type { Clock } from '../../../../common/clock';
import type { ProviderCall } from '../../../contract/provider-call';
import { transportFailure } from '../../../kit/transport-error';
import { CallTimer } from '../call-timer';
import type { Script } from '../script';
import { untilReply } from '../scripted-wait';
import type { JobDirectory } from './job-directory';
import type { JobSubmission } from './job-record';

/** Takes a job, before or after what its script lets go wrong, or not at all. Ends when the answer is on its way. */
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

/** What a script lets go wrong a number of times is counted where all processes see it. */
export async function goesWrong(
  { times }: Script,
  directory: JobDirectory,
  id: string,
  what: 'submit' | 'open',
): Promise<boolean> {
  return times === undefined || (await directory.countTry(id, what)) <= times;
}
