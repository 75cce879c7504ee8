/**
 * Signatures of fal's reports (https://docs.fal.ai/model-endpoints/webhooks): ED25519 over the request id, the user id,
 * the time, and the SHA-256 of the body.
 */
import { createHash, createPublicKey, type KeyObject, verify } from 'node:crypto';
import { type Clock, systemClock } from '../../../core/time/clock';
import type { ReportCall, SignedReport } from '../../contract/media-job';
import { isJsonObject, parseJsonObject } from '../../kit/json';
import { isRecent, SigningKeys } from '../../kit/signing-keys';

/** Formerly at `rest.alpha.fal.ai`. Not the host of the queue, and read without the credential. */
const KEYS_URL = 'https://rest.fal.ai/.well-known/jwks.json';
const SIGNATURE = /^[\da-f]{128}$/i;

export class FalSignatures {
  private readonly keys: SigningKeys<KeyObject>;

  constructor(private readonly clock: Clock = systemClock) {
    this.keys = new SigningKeys(fetchKeys, clock);
  }

  /** @throws Error when the keys cannot be fetched */
  async verify({ headers, body }: SignedReport, call: ReportCall): Promise<boolean> {
    const [requestId, userId, timestamp, signature] = ['request-id', 'user-id', 'timestamp', 'signature'].map(
      (name) => headers[`x-fal-webhook-${name}`],
    );
    if (typeof requestId !== 'string' || typeof userId !== 'string') return false;
    if (typeof timestamp !== 'string' || !isRecent(timestamp, this.clock)) return false;
    if (typeof signature !== 'string' || !SIGNATURE.test(signature)) return false;
    const digest = createHash('sha256').update(body).digest('hex');
    const message = Buffer.from([requestId, userId, timestamp, digest].join('\n'));
    const signatureBytes = Buffer.from(signature, 'hex');
    return this.keys.some((key) => verify(null, message, key, signatureBytes), call);
  }
}

async function fetchKeys({ fetchPublic }: ReportCall): Promise<KeyObject[]> {
  const listed = parseJsonObject(await fetchPublic(KEYS_URL))?.['keys'];
  const keys = (Array.isArray(listed) ? listed : []).flatMap(keyOf);
  if (keys.length === 0) throw new Error('fal lists no key that can be read');
  return keys;
}

/** Empty for other types of keys. */
function keyOf(listed: unknown): KeyObject[] {
  if (!isJsonObject(listed) || listed['crv'] !== 'Ed25519' || typeof listed['x'] !== 'string') return [];
  try {
    return [createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: listed['x'] }, format: 'jwk' })];
  } catch {
    return [];
  }
}
