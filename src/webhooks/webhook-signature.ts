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
  /** Of this attempt, in Unix seconds. */
  readonly timestamp: number;
  readonly body: Buffer;
}

/**
 * Both signatures of a message, as headers. They differ in their keys: that of `x-llm-signature` (contract, section 5) is
 * the whole secret as text, the way the customer has it; that of `webhook-signature` is the bytes which the secret
 * spells, as the libraries of Standard Webhooks expect.
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
