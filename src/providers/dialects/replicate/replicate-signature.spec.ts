import { makeWebhookSecret, signatureHeaders } from '../../../webhooks/webhook-signature';
import type { ReportCall, SignedReport } from '../../contract/media-job';
import type { UpstreamHttp } from '../../kit/upstream-http';
import { ReplicateSignatures } from './replicate-signature';

const BODY = Buffer.from('{"id":"p-1","status":"succeeded"}');
const [first, second] = [makeWebhookSecret(), makeWebhookSecret()];

let nowMs: number;
/** The reply of the endpoint for the secret. */
let reply: unknown;
let fetched: string[];
let signatures: ReplicateSignatures;
beforeEach(() => {
  nowMs = Date.parse('2026-11-26T12:00:00Z');
  reply = { key: first };
  fetched = [];
  const http = {
    endpoint: (path: string) => `/v1/${path}`,
    get: (target: string) => {
      fetched.push(target);
      return Promise.resolve(Buffer.from(JSON.stringify(reply)));
    },
  };
  signatures = new ReplicateSignatures(http as unknown as UpstreamHttp, { now: () => nowMs, monotonic: () => nowMs });
});

/** A report as Replicate sends it. */
function signed(secret = first, ageSeconds = 0): SignedReport & { readonly headers: Record<string, string> } {
  const timestamp = Math.floor(nowMs / 1_000) - ageSeconds;
  return { headers: signatureHeaders({ id: 'msg-1', timestamp, body: BODY }, secret), body: BODY };
}

const verify = (report: SignedReport) => signatures.verify(report, {} as ReportCall);

describe('the signature of a report of Replicate', () => {
  it('is valid for what the secret of the account signed', async () => {
    expect([await verify(signed()), await verify(signed())]).toEqual([true, true]);
    expect(fetched).toEqual(['/v1/webhooks/default/secret']);
  });

  it('is valid if it is one of several, while the secret is replaced', async () => {
    const { headers, body } = signed();
    const other = signed(second).headers['webhook-signature'];
    const several = `v1,short v2,${other} ${other} ${headers['webhook-signature']}`;
    expect(await verify({ headers: { ...headers, 'webhook-signature': several }, body })).toBe(true);
  });

  it('is valid with a new secret, and no longer with the former one', async () => {
    await verify(signed());
    reply = { key: second };
    nowMs += 60_000;
    expect([await verify(signed(second)), await verify(signed(first))]).toEqual([true, false]);
  });

  it('is invalid with another body, id, time, version or secret', async () => {
    const { headers, body } = signed();
    const signature = headers['webhook-signature'] ?? '';
    const altered: SignedReport[] = [
      { headers, body: Buffer.from('{}') },
      { headers: { ...headers, 'webhook-id': 'msg-2' }, body },
      { headers: { ...headers, 'webhook-timestamp': String(Number(headers['webhook-timestamp']) + 1) }, body },
      { headers: { ...headers, 'webhook-signature': signature.replace('v1,', 'v2,') }, body },
      { headers: { ...headers, 'webhook-signature': '' }, body },
      signed(second),
      signed(first, 301),
      signed(first, -301),
      { headers: {}, body },
    ];
    expect(await Promise.all(altered.map(verify))).toEqual(altered.map(() => false));
  });

  it.each([[{}], [{ key: 'whsec_' }], [{ key: 'no secret' }], [[]]])(
    'cannot be verified with the secret %j',
    async (given) => {
      reply = given;
      await expect(verify(signed())).rejects.toThrow('no signing secret');
    },
  );
});
