import { createHmac, timingSafeEqual } from 'node:crypto';
import type { UpstreamHeaders } from './upstream-errors';

const MAX_SKEW_SECONDS = 300;

/**
 * Whether a callback has a signature of the Standard Webhooks specification
 * (https://github.com/standard-webhooks/standard-webhooks), as Replicate's have
 * (https://replicate.com/docs/topics/webhooks/verify-webhook).
 * @param secret `whsec_` and the key in base64
 */
export function hasStandardSignature(
  { headers, body, nowMs }: { readonly headers: UpstreamHeaders; readonly body: Buffer; readonly nowMs: number },
  secret: string,
): boolean {
  const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures } = headers;
  if (typeof id !== 'string' || typeof timestamp !== 'string' || typeof signatures !== 'string') return false;
  if (!(Math.abs(nowMs / 1_000 - Number(timestamp)) <= MAX_SKEW_SECONDS)) return false;
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  const expected = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest();
  return signatures.split(' ').some((each) => {
    const [version, signature = ''] = each.split(',', 2);
    const given = Buffer.from(signature, 'base64');
    return version === 'v1' && given.length === expected.length && timingSafeEqual(given, expected);
  });
}
