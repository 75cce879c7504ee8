import { GatewayError } from '../errors/gateway-error';

/**
 * Why a URL was not fetched or delivered. Refused connections, closed ports, unknown names and timeouts are all
 * `failed`, so that callers cannot probe the internal network.
 */
export type OutboundFault = 'malformed' | 'blocked' | 'failed' | 'too-large' | 'too-many-bytes' | 'no-image';

const WORDS: Readonly<Record<OutboundFault, string>> = {
  malformed: 'must be an https address without user name and password, of at most 2048 characters',
  blocked: 'points to a private or blocked address',
  failed: 'could not be fetched',
  'too-large': 'is too large',
  'too-many-bytes': 'is too large together with the others',
  'no-image': 'is not a PNG, JPEG, WebP or GIF image',
};

/** A refusal or a failure. The message names neither URL nor host; the cause does, for the log only. */
export class OutboundError extends Error {
  /** Status of the refused reply; absent without a reply. */
  readonly status?: number;

  constructor(
    readonly fault: OutboundFault,
    { status, ...options }: ErrorOptions & { readonly status?: number } = {},
  ) {
    super(`The address ${WORDS[fault]}.`, options);
    this.name = 'OutboundError';
    this.status = status;
  }

  /** The client error for the field `param`. */
  toClientError(param: string): GatewayError {
    const code = this.fault === 'blocked' ? 'ssrf_blocked' : 'validation_failed';
    return new GatewayError(code, `${param} ${WORDS[this.fault]}.`, { param, cause: this });
  }
}
