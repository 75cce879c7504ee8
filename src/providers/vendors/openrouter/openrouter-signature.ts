/**
 * Signatures of OpenRouter's reports (https://openrouter.ai/docs/cookbook/video-generation/video-generation-webhooks):
 * HMAC-SHA256, in hexadecimal, over the time in Unix seconds, a comma and the body.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { type Clock, systemClock } from '../../../core/time/clock';
import type { SignedReport } from '../../contract/media-job';
import { isRecent } from '../../kit/signing-keys';

const SIGNATURE = /^t=(\d+),v1=([\da-f]{64})$/i;

/** @param secret of the workspace */
export function isSignedByOpenRouter(
  { headers, body }: SignedReport,
  secret: string,
  clock: Clock = systemClock,
): boolean {
  const { 'x-openrouter-signature': header } = headers;
  const [, timestamp, signature] = SIGNATURE.exec(typeof header === 'string' ? header : '') ?? [];
  if (timestamp === undefined || signature === undefined || !isRecent(timestamp, clock)) return false;
  const expected = createHmac('sha256', secret).update(`${timestamp},`).update(body).digest();
  return timingSafeEqual(Buffer.from(signature, 'hex'), expected);
}
