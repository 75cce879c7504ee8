import { GatewayError } from '../common/errors/gateway-error';
import type { IdempotencyClaim } from '../common/idempotency';
import type { StoredAnswer } from '../idempotency/idempotency.service';

/** What a submission is answered with. */
export interface GivenAnswer extends StoredAnswer {
  /** `true`: another request has submitted the job. */
  readonly isReplayed: boolean;
}

interface Submission {
  readonly fingerprint: string;
  /** `null`: it was refused. */
  readonly answer: Promise<GivenAnswer | null>;
}

/**
 * The submissions that this process is at, by their keys. A client that sends one many times at once has its twins wait here
 * for the first, instead of a thousand of them in the database for one row. Between processes the database decides.
 */
export class SubmissionsUnderWay {
  private readonly submissions = new Map<string, Submission>();

  /**
   * Submits, or answers as a twin was that is at it. One that is refused binds nobody: twins may have other keys of the API.
   * @throws GatewayError `idempotency_conflict` when the twin has another body and is accepted
   */
  async run(
    organizationId: string,
    { operation, key, fingerprint }: IdempotencyClaim,
    submit: () => Promise<GivenAnswer>,
  ): Promise<GivenAnswer> {
    const id = `${organizationId} ${operation} ${key}`;
    const twin = this.submissions.get(id);
    // Without a twin nothing is waited for, so that this is the twin that the next one finds.
    const known = twin === undefined ? null : await twin.answer;
    if (known !== null) {
      if (twin?.fingerprint !== fingerprint) throw usedForAnotherBody();
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
