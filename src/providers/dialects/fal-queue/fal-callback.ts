/**
 * Signatures of fal's callbacks (https://docs.fal.ai/model-endpoints/webhooks): ED25519 over four lines, in hex. A callback
 * only says that a request may have ended; its state is asked for. The keys are published at
 * https://rest.fal.ai/.well-known/jwks.json and may be kept for 24 hours.
 */
import { createHash, createPublicKey, type JsonWebKey, verify } from 'node:crypto';
import { isJsonObject, parseJsonObject } from '../../kit/json';
import type { UpstreamHeaders } from '../../kit/upstream-errors';

const MAX_SKEW_SECONDS = 300;

export interface SignedCallback {
  /** Names in lower case. */
  readonly headers: UpstreamHeaders;
  /** The bytes as received. */
  readonly body: Buffer;
  readonly nowMs: number;
}

/** The keys of a key set; keys of other kinds are left out. */
export function readFalKeys(document: Buffer): JsonWebKey[] {
  const keys = parseJsonObject(document)?.['keys'];
  if (!Array.isArray(keys)) return [];
  return keys.filter((key) => isJsonObject(key) && key['kty'] === 'OKP' && key['crv'] === 'Ed25519') as JsonWebKey[];
}

/** The id of the request that the callback is about; `null` unless one of the keys signed it in the last five minutes. */
export function verifyFalCallback(
  { headers, body, nowMs }: SignedCallback,
  keys: readonly JsonWebKey[],
): string | null {
  const [id, user, timestamp, signature] = ['request-id', 'user-id', 'timestamp', 'signature'].map(
    (name) => headers[`x-fal-webhook-${name}`],
  );
  const isComplete = [id, user, timestamp, signature].every((value) => typeof value === 'string' && value !== '');
  if (!isComplete || !(Math.abs(nowMs / 1_000 - Number(timestamp)) <= MAX_SKEW_SECONDS)) return null;
  const digest = createHash('sha256').update(body).digest('hex');
  const message = Buffer.from([id, user, timestamp, digest].join('\n'));
  const signed = Buffer.from(String(signature), 'hex');
  return keys.some((key) => isSignedBy(key, message, signed)) ? String(id) : null;
}

function isSignedBy(key: JsonWebKey, message: Buffer, signature: Buffer): boolean {
  try {
    return verify(null, message, createPublicKey({ key, format: 'jwk' }), signature);
  } catch {
    // A key that cannot be read signs nothing.
    return false;
  }
}
