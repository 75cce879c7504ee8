/**
 * Signatures of Replicate's reports (https://replicate.com/docs/topics/webhooks/verify-webhook): Standard Webhooks,
 * with one secret per account.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { type Clock, systemClock } from '../../../core/time/clock';
import type { ReportCall, SignedReport } from '../../contract/media-job';
import { parseJsonObject } from '../../kit/json';
import { isRecent, SigningKeys } from '../../kit/signing-keys';
import type { UpstreamHttp } from '../../kit/upstream-http';

const SECRET = /^whsec_([A-Za-z\d+/]{16,}={0,2})$/;
const VERSION = 'v1,';

export class ReplicateSignatures {
  private readonly secrets: SigningKeys<Buffer>;

  constructor(
    http: UpstreamHttp,
    private readonly clock: Clock = systemClock,
  ) {
    this.secrets = new SigningKeys((call) => fetchSecret(http, call), clock);
  }

  /** @throws Error when the secret cannot be fetched */
  async verify({ headers, body }: SignedReport, call: ReportCall): Promise<boolean> {
    const [id, timestamp, signatures] = ['id', 'timestamp', 'signature'].map((name) => headers[`webhook-${name}`]);
    if (typeof id !== 'string' || typeof signatures !== 'string') return false;
    if (typeof timestamp !== 'string' || !isRecent(timestamp, this.clock)) return false;
    // Several signatures are sent while the secret is being replaced.
    const given = signatures
      .split(' ')
      .filter((signature) => signature.startsWith(VERSION))
      .map((signature) => Buffer.from(signature.slice(VERSION.length), 'base64'));
    return this.secrets.some((secret) => {
      const expected = createHmac('sha256', secret).update(`${id}.${timestamp}.`).update(body).digest();
      return given.some((each) => each.length === expected.length && timingSafeEqual(each, expected));
    }, call);
  }
}

async function fetchSecret(http: UpstreamHttp, call: ReportCall): Promise<Buffer[]> {
  const key = parseJsonObject(await http.get(http.endpoint('webhooks/default/secret'), call))?.['key'];
  const encoded = typeof key === 'string' ? SECRET.exec(key)?.[1] : undefined;
  if (encoded === undefined) throw new Error('Replicate returned no signing secret');
  return [Buffer.from(encoded, 'base64')];
}
