import { microToJson } from '../core/types/micro';
import type { JobKind, JobSubmission } from './media-job.types';

/** JSON text around a placeholder for `created_at`, which the database sets. */
export interface SubmissionText {
  readonly head: string;
  readonly tail: string;
}

const GAP = '\u0000';
/** The placeholder as escaped in JSON; no other field can contain it. */
const WRITTEN_GAP = JSON.stringify(GAP).slice(1, -1);

/** The `object` of a job of this kind. */
export function jobObject(kind: JobKind): 'video.generation' | 'music.generation' {
  return `${kind}.generation`;
}

/** The body of the 202 (`SubmittedJob` in `openapi/`). */
export function writeSubmission({ id, kind, model, holdMicro }: JobSubmission): SubmissionText {
  const text = JSON.stringify({
    id,
    object: jobObject(kind),
    status: 'queued',
    model,
    created_at: GAP,
    estimated_cost_micro: microToJson(holdMicro),
  });
  const at = text.indexOf(WRITTEN_GAP);
  return { head: text.slice(0, at), tail: text.slice(at + WRITTEN_GAP.length) };
}

/** The headers of every response to this submission. */
export function submissionHeaders({ model, holdMicro }: JobSubmission): Readonly<Record<string, string>> {
  return { 'x-llm-model': model, 'x-llm-cost-micro': holdMicro.toString() };
}
