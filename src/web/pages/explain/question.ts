import type { ExplainedOperation } from '../../../contract/dashboard';

/** A request to explain. */
export interface Question {
  readonly keyId: string;
  readonly operation: ExplainedOperation;
  /** JSON, as typed. */
  readonly body: string;
  readonly clientIp: string;
}
