import { GatewayError } from '../core/errors/gateway-error';
import type { IdempotencyClaim } from '../core/types/idempotency';
import type { StoredResponse } from '../auth/idempotency/idempotency.service';

/** The response to a submission. */
export interface SubmissionResponse extends StoredResponse {
  /** `true`: another request has submitted the job. */
  readonly isReplayed: boolean;
}

interface Submission {
  readonly fingerprint: string;
  /** `null`: the submission was refused. */
  readonly answer: Promise<SubmissionResponse | null>;
}

/**
 * Submissions in flight in this process, by idempotency key. Concurrent duplicates wait here for the first one instead
 * of blocking on one database row. Between processes, the database decides.
 */
export class SubmissionsUnderWay {
  private readonly submissions = new Map<string, Submission>();

  /**
   * Submits, or returns the response of a duplicate in flight. A refusal is not shared: duplicates may use other API
   * keys.
   * @throws GatewayError `idempotency_conflict` when the accepted duplicate has another body
   */
  async submitOnce(
    organizationId: string,
    { operation, key, fingerprint }: IdempotencyClaim,
    submit: () => Promise<SubmissionResponse>,
  ): Promise<SubmissionResponse> {
    const id = `${organizationId} ${operation} ${key}`;
    const duplicate = this.submissions.get(id);
    // Without a duplicate there is no `await`, so that the next request finds this submission.
    const known = duplicate === undefined ? null : await duplicate.answer;
    if (known !== null) {
      if (duplicate?.fingerprint !== fingerprint) throw usedForAnotherBody();
      return { ...known, isReplayed: true };
    }
    const answer = submit();
    const submission = { fingerprint, answer: answer.catch(() => null) };
    this.submissions.set(id, submission);
    try {
      return await answer;
    } finally {
      if (this.submissions.get(id) === submission) this.submissions.delete(id);
    }
  }
}

function usedForAnotherBody(): GatewayError {
  return new GatewayError('idempotency_conflict', 'This Idempotency-Key was used for a request with another body.');
}
