import type { JobSpec } from '../../providers/contract/media-job';
import type { JobInputs } from '../job-inputs';
import type { MediaJob, MusicSettings, VideoSettings } from '../media-job.types';

/**
 * What a provider is asked to make; the pictures of a video are fetched for that.
 * @throws GatewayError `validation_failed`, `ssrf_blocked` for a picture that will not get better; `service_unavailable`
 */
export async function readJobSpec(job: MediaJob, inputs: JobInputs, signal: AbortSignal): Promise<JobSpec> {
  const prompt = String(job.params.prompt);
  if (job.kind === 'music') return { kind: 'music', prompt, ...(job.settings as MusicSettings) };
  return { kind: 'video', prompt, ...(job.settings as VideoSettings), ...(await inputs.load(job, signal)) };
}
