/** Reads the codes and files in the replies of MiniMax's music, speech and video. */
import { ProviderError, type ProviderErrorOptions } from '../../contract/provider-error';
import { isJsonObject, type JsonObject } from '../../kit/json';
import { unknownVoice } from '../../kit/unsupported';
import { contentRefused } from '../../kit/video-jobs';

const HEXADECIMAL = /^(?:[\da-f]{2})+$/i;

/** The bytes of a file; `null` for anything else. */
export function decodeHex(text: unknown): Buffer | null {
  return typeof text === 'string' && HEXADECIMAL.test(text) ? Buffer.from(text, 'hex') : null;
}

/** Music is never retried after a transient code: a piece may have been made and billed. */
type Work = 'speech' | 'music';

/** MiniMax sends refusals with status 200. @throws ProviderError for a refusal */
export function assertAccepted({ base_resp: base }: JsonObject, phase: 'first_token' | 'stream', work: Work): void {
  const code = isJsonObject(base) ? base['status_code'] : undefined;
  if (typeof code === 'number' && code !== 0) throw faultOf(code, phase, work);
}

/** Maps the code of a refusal that arrived instead of a speech stream; other errors stay unchanged. */
export function asMiniMaxFault(error: unknown): unknown {
  if (!(error instanceof ProviderError)) return error;
  const { status, code = '' } = error.options.upstream ?? {};
  return status === 200 && /^\d{4,5}$/.test(code) ? faultOf(Number(code), 'first_token', 'speech') : error;
}

/** Whether a code, as text or as a number, stands for sensitive input or output. */
export function isSensitive(code: unknown): boolean {
  return ['1026', '1027'].includes(String(code));
}

/** HTTP statuses by transient code ("Please retry your requests later."). */
const TRANSIENT: Readonly<Record<number, number>> = { 1000: 500, 1001: 504, 1024: 500, 1033: 500 };

/** https://platform.minimax.io/docs/api-reference/errorcode */
function faultOf(code: number, phase: 'first_token' | 'stream', work: Work): ProviderError {
  const refused = (status: number): ProviderErrorOptions => ({
    phase,
    fallback: phase !== 'stream',
    upstream: { status, code: String(code) },
  });
  if (isSensitive(code)) return contentRefused(refused(400));
  const { [code]: status } = TRANSIENT;
  if (status !== undefined && work === 'speech') {
    return status === 504
      ? new ProviderError('provider_timeout', 'The provider did not answer in time.', refused(status))
      : new ProviderError('provider_unavailable', 'The provider is unavailable.', refused(status));
  }
  switch (code) {
    case 1002:
    case 1039:
    case 1041:
    case 2045:
      return new ProviderError('provider_rate_limited', 'The provider is limiting the rate of requests.', refused(429));
    case 1004:
    case 1008:
    case 2049:
    case 2056: {
      const message = 'The provider refused the gateway’s account.';
      return new ProviderError('provider_error', message, { ...refused(401), credentialRefused: true });
    }
    case 1042:
    case 2013: {
      const message = 'The provider refused the request as invalid.';
      return new ProviderError('validation_failed', message, { ...refused(400), fallback: false });
    }
    case 2042:
    // Missing from the documented list: https://github.com/Kochava-Studios/witsy/issues/478
    case 2054:
    case 20132:
      return unknownVoice(refused(400));
    default:
      return new ProviderError('provider_error', 'The provider failed to make the result.', {
        phase,
        fallback: false,
        outcomeUnknown: true,
        upstream: { code: String(code) },
      });
  }
}
