import { Logger } from '@nestjs/common';
import type { AppConfig } from '../core/config/app-config';
import type { ErrorType } from '../core/errors/catalog';

/** The fields of a line, as stored in the receipt where the request has one. */
export interface EndedFields {
  readonly request_id: string;
  readonly trace_id?: string;
  readonly span_id?: string;
  readonly organization_id: string | undefined;
  readonly api_key_id: string | undefined;
  readonly operation: string;
  readonly model: string | undefined;
  readonly provider?: string | null;
  readonly deployment?: string | null;
  readonly status: number;
  readonly code: string | null;
  readonly streamed: boolean;
  readonly attempts?: number;
  readonly charged_micro?: number | null;
  readonly duration_ms?: number;
}

/** What the gateway or a provider is to blame for. */
const FAILURES: ReadonlySet<string> = new Set<ErrorType>(['internal_error', 'provider_error', 'timeout_error']);

const logger = new Logger('Requests');

/** Writes one line `request_ended` for the requests that `LOG_REQUESTS` selects; for an `internal_error` always. */
export class RequestLog {
  constructor(private readonly mode: AppConfig['logRequests']) {}

  /** @param fields called only when there is a line to write */
  write(outcome: string, fields: () => EndedFields): void {
    if (this.mode === 'none' ? outcome !== 'internal_error' : this.mode === 'failures' && !FAILURES.has(outcome))
      return;
    logger.log({ event: 'request_ended', message: 'request ended', outcome, ...fields() });
  }
}
