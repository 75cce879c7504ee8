import type { PaidOperation } from '../../../contract/dashboard';

/** A request to explain. */
export interface Question {
  readonly keyId: string;
  readonly operation: PaidOperation;
  /** JSON, as typed. */
  readonly body: string;
  readonly clientIp: string;
}
