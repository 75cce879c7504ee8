import { createHmac } from 'node:crypto';
import type { Clock } from '../../../core/time/clock';

const LIFETIME_SECONDS = 1_800;
/** Allows for a Kling clock that is behind. */
const LEEWAY_SECONDS = 5;
const RENEWAL_SECONDS = 60;

/**
 * The `Authorization` header for a Kling key: the key itself, or, for an access key and a secret key written as
 * `access-key:secret-key`, a token signed with the secret key
 * (https://kling.ai/document-api/api/get-started/authentication).
 */
export function klingAuthorization(apiKey: string, clock: Clock): () => string {
  const [accessKey = '', secretKey] = apiKey.split(':');
  if (secretKey === undefined) return () => `Bearer ${apiKey}`;
  let token = '';
  let renewAtSeconds = -Infinity;
  return () => {
    const nowSeconds = Math.floor(clock.now() / 1_000);
    if (nowSeconds >= renewAtSeconds) {
      token = sign(accessKey, secretKey, nowSeconds);
      renewAtSeconds = nowSeconds + LIFETIME_SECONDS - RENEWAL_SECONDS;
    }
    return `Bearer ${token}`;
  };
}

function sign(accessKey: string, secretKey: string, nowSeconds: number): string {
  const claims = { iss: accessKey, exp: nowSeconds + LIFETIME_SECONDS, nbf: nowSeconds - LEEWAY_SECONDS };
  const signed = [{ alg: 'HS256', typ: 'JWT' }, claims]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.');
  return `${signed}.${createHmac('sha256', secretKey).update(signed).digest('base64url')}`;
}
