import { createHmac, randomBytes } from 'node:crypto';

const SECRET_PREFIX = 'whsec_';
const SECRET_BYTES = 32;

/** `whsec_` and 32 random bytes in base64: a secret of the Standard Webhooks specification. */
export function makeWebhookSecret(): string {
  return SECRET_PREFIX + randomBytes(SECRET_BYTES).toString('base64');
}

export interface SignedMessage {
  /** The same for every attempt. */
  readonly id: string;
  /** Time of this attempt in Unix seconds. */
  readonly timestamp: number;
  readonly body: Buffer;
}

/**
 * Both signatures of a message, as headers. `x-llm-signature` uses the whole secret text as its key;
 * `webhook-signature` uses the decoded base64 bytes of the secret, as the Standard Webhooks libraries expect.
 */
export function signatureHeaders({ id, timestamp, body }: SignedMessage, secret: string): Record<string, string> {
  const standardKey = Buffer.from(secret.slice(SECRET_PREFIX.length), 'base64');
  const standard = createHmac('sha256', standardKey).update(`${id}.${timestamp}.`).update(body).digest('base64');
  return {
    'x-llm-signature': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`,
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': `v1,${standard}`,
  };
}
