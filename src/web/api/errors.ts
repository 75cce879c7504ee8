import type { ErrorDetail } from '../../contract/dashboard';

/** Code of the pages for a request that got no answer. */
const UNREACHABLE = 'unreachable';

/** A refusal of the API, or no answer at all (status 0). */
export class ApiError extends Error {
  readonly code: string;
  /** JSON path of the invalid field, or the name of a query parameter. */
  readonly param: string | undefined;
  readonly requestId: string | undefined;
  readonly retryAfterSeconds: number | undefined;

  constructor(
    readonly status: number,
    detail: Partial<ErrorDetail>,
    readonly shouldRetry: boolean,
  ) {
    super(detail.message ?? `The service answered with status ${status}.`);
    this.name = 'ApiError';
    this.code = detail.code ?? 'internal_error';
    this.param = detail.param;
    this.requestId = detail.request_id;
    this.retryAfterSeconds = detail.retry_after;
  }

  static unreachable(): ApiError {
    const message = 'The service could not be reached. Check your connection and try again.';
    const error = new ApiError(0, { message }, true);
    return Object.assign(error, { code: UNREACHABLE });
  }

  /** Of a reply whose body is the shared error envelope, or anything else that a proxy sends. */
  static of(response: Response, body: unknown): ApiError {
    const detail = (body as { error?: Partial<ErrorDetail> } | undefined)?.error;
    return new ApiError(
      response.status,
      typeof detail === 'object' ? detail : {},
      response.headers.get('x-should-retry') === 'true',
    );
  }
}

export function isApiError(error: unknown, code?: string): error is ApiError {
  return error instanceof ApiError && (code === undefined || error.code === code);
}
