import { createPrivateKey } from 'node:crypto';
import { parseJsonObject } from '../../kit/json';
import { parseBaseUrl } from '../../kit/upstream-http';

const API_KEY = /^[\w.-]{1,200}$/;
const DEFAULT_TOKEN_URL = 'https://oauth2.googleapis.com/token';

export interface ServiceAccount {
  readonly email: string;
  /** RSA, as PEM. */
  readonly privateKey: string;
  readonly tokenUrl: URL;
}

/**
 * Reads the key file of a service account, in base64; `null` for an API key. Anything else is refused, so that a
 * damaged private key is not sent as an API key.
 * @throws Error that names the variable, never the value
 */
export function parseServiceAccount(value: string, variable: string): ServiceAccount | null {
  const file = parseJsonObject(Buffer.from(value, 'base64'));
  if (file === null && API_KEY.test(value)) return null;
  const { type, client_email: email, private_key: privateKey, token_uri: tokenUrl = DEFAULT_TOKEN_URL } = file ?? {};
  if (
    type !== 'service_account' ||
    typeof email !== 'string' ||
    typeof privateKey !== 'string' ||
    typeof tokenUrl !== 'string' ||
    !isRsaKey(privateKey)
  ) {
    throw new Error(`${variable} must be the JSON key of a service account in base64, with an RSA key, or an API key`);
  }
  return { email, privateKey, tokenUrl: parseBaseUrl(tokenUrl, `the token_uri in ${variable}`) };
}

function isRsaKey(pem: string): boolean {
  try {
    return createPrivateKey(pem).asymmetricKeyType === 'rsa';
  } catch {
    return false;
  }
}
