import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { COMMAND_LINE } from '../../../src/core/types/actor';
import { nodeAt, openapiDocument } from '../../harness/openapi-document';
import type { SeenRequest } from '../../harness/public-host';
import { ScriptedDns } from '../../harness/scripted-dns';
import { takeAttempts } from '../../harness/socket-watch';
import { expectDueIn, NAME, PendingDeliveries } from './pending-delivery';
import { deliveryOf, type EngineSettings, letPass, logOf, requestIdOf, verify } from './webhook-engine';

const PAUSES_S = [5, 300, 1_800, 7_200, 18_000, 36_000, 36_000];

const deliveries = PendingDeliveries.setUp();

/** The headers that the document defines. */
function expectDocumented({ headers }: SeenRequest): void {
  const operation = nodeAt(openapiDocument(), '/webhooks/jobFinished/post')?.value;
  const promised = operation?.parameters as { name: string; schema: { pattern?: string } }[];
  expect(promised.length).toBeGreaterThanOrEqual(5);
  for (const { name, schema } of promised) {
    expect(headers[name.toLowerCase()]).toMatch(new RegExp(schema.pattern ?? '.', 'u'));
  }
}

describe('a webhook receiver', () => {
  it('that fails three times gets four attempts of one event on schedule, and no more after a 2xx', async () => {
    const delivery = await deliveries.create();
    const { engine, jobId, secret, next } = delivery;
    for (const pause of PAUSES_S.slice(0, 3)) {
      deliveries.answerWith(500);
      await next();
      await expectDueIn(delivery, pause);
    }
    deliveries.answerWith(200);
    await next();
    const { id, ...row } = await deliveryOf(engine, jobId);
    expect(row).toMatchObject({ state: 'delivered', attempt: 4, last_status: 200, last_error: null, has_ended: true });
    expect(await logOf(engine, jobId)).toEqual([
      [1, 500, 'rejected'],
      [2, 500, 'rejected'],
      [3, 500, 'rejected'],
      [4, 200, null],
    ]);
    await letPass(engine, jobId, 86_400);
    expect(await engine.service.deliverDue()).toBe(0);

    expect(deliveries.host.seen).toHaveLength(4);
    for (const request of deliveries.host.seen) {
      expect(verify(request, secret)).toMatchObject({ event: 'job.failed', job: { id: jobId } });
      expect(request).toMatchObject({ method: 'POST', url: '/hook' });
      expect(request.headers).toMatchObject({
        'content-type': 'application/json',
        'x-request-id': requestIdOf(jobId),
        'webhook-id': id,
        'user-agent': 'inference-gateway/1',
      });
      expectDocumented(request);
    }
    // Built for each attempt, with fresh artifact URLs.
    expect(new Set(deliveries.host.seen.map(({ body }) => body)).size).toBe(4);
  });

  it('that always fails gets exactly eight attempts', async () => {
    deliveries.answerWith(503);
    const delivery = await deliveries.create();
    for (const pause of PAUSES_S) {
      await delivery.next();
      await expectDueIn(delivery, pause);
    }
    await delivery.next();
    const { engine, jobId } = delivery;
    expect(await deliveryOf(engine, jobId)).toMatchObject({ state: 'exhausted', attempt: 8, has_ended: true });
    expect(await engine.service.deliverDue()).toBe(0);
    expect(deliveries.host.seen).toHaveLength(8);
  });

  it('that responds 410 gets one attempt', async () => {
    deliveries.answerWith(410);
    const { engine, jobId, next } = await deliveries.create();
    await next();
    expect(await deliveryOf(engine, jobId)).toMatchObject({ state: 'gone', last_status: 410, last_error: 'gone' });
    await letPass(engine, jobId, 86_400);
    expect(await engine.service.deliverDue()).toBe(0);
    expect(deliveries.host.seen).toHaveLength(1);
  });

  it.each([429, 503])('that responds %s with Retry-After gets no earlier attempt', async (status) => {
    deliveries.answerWith(status, { 'retry-after': '600' });
    const delivery = await deliveries.create();
    await delivery.next();
    await expectDueIn(delivery, 600);
    deliveries.answerWith(status, { 'retry-after': '86400' });
    await delivery.next();
    await expectDueIn(delivery, 3_600);
  });

  it('that redirects is not followed', async () => {
    let connections = 0;
    const elsewhere = createServer(() => connections++).listen(0, '127.0.0.1');
    await once(elsewhere, 'listening');
    try {
      const { port } = elsewhere.address() as AddressInfo;
      deliveries.answerWith(302, { location: `https://127.0.0.1:${port}/` });
      const delivery = await deliveries.create();
      await delivery.next();
      await expectDueIn(delivery, 5);
      expect(await logOf(delivery.engine, delivery.jobId)).toEqual([[1, 302, 'rejected']]);
      expect(connections).toBe(0);
    } finally {
      elsewhere.close();
    }
  });

  it.each<[string, () => void]>([
    ['says nothing', () => (deliveries.host.answer = () => undefined)],
    ['hangs up', () => (deliveries.host.answer = (response) => response.destroy())],
    [
      'drips its response byte by byte',
      () =>
        (deliveries.host.answer = ({ socket }) => {
          const bytes = [...`HTTP/1.1 200 OK\r\nx-slow: ${'x'.repeat(1_000)}\r\n\r\n`];
          const drip = setInterval(() => socket?.write(bytes.shift() ?? ''), 20);
          socket?.on('close', () => clearInterval(drip));
        }),
    ],
  ])('that %s fails at the time limit', async (_what, script) => {
    script();
    const delivery = await deliveries.create({ outbound: { limits: { webhookMs: 400 } } });
    await delivery.next();
    await expectDueIn(delivery, 5);
    expect(await logOf(delivery.engine, delivery.jobId)).toEqual([[1, null, 'unreachable']]);
  });

  it.each<[string, EngineSettings, string]>([
    ['has the certificate of another host', { outbound: { resolve: async () => ['127.0.0.1'] } }, 'other.example.com'],
    ['does not resolve', { outbound: { resolve: async () => [] } }, NAME],
    [
      'has a name server that does not respond',
      { outbound: { resolve: () => new Promise(() => undefined), limits: { lookupMs: 50 } } },
      NAME,
    ],
  ])('that %s gets no request and is retried', async (_what, settings, name) => {
    deliveries.answerWith(200);
    const delivery = await deliveries.create(settings, deliveries.host.url('/hook', name));
    await delivery.next();
    await expectDueIn(delivery, 5);
    expect(await logOf(delivery.engine, delivery.jobId)).toEqual([[1, null, 'unreachable']]);
    expect(deliveries.host.seen).toEqual([]);
  });

  it('that resolves to a private IP at the third attempt gets no connection then, but the fourth attempt', async () => {
    const { resolve } = new ScriptedDns({ [NAME]: [['127.0.0.1'], ['127.0.0.1'], ['10.0.0.1'], ['127.0.0.1']] });
    const { engine, jobId, next } = await deliveries.create(
      { outbound: { resolve } },
      deliveries.host.url('/hook', NAME),
    );
    deliveries.answerWith(500);
    await next();
    await next();
    takeAttempts();
    await next();
    expect(takeAttempts()).toEqual([]);
    deliveries.answerWith(204);
    await next();
    expect(await logOf(engine, jobId)).toEqual([
      [1, 500, 'rejected'],
      [2, 500, 'rejected'],
      [3, null, 'address_blocked'],
      [4, 204, null],
    ]);
    expect(deliveries.host.seen).toHaveLength(3);
  });

  it('gets signatures of the new secret after a rotation', async () => {
    deliveries.answerWith(500);
    const { engine, jobId, secret, next } = await deliveries.create();
    await next();
    const [{ organization_id: organizationId = '' } = {}] = await engine.dataSource.query<
      { organization_id: string }[]
    >('SELECT organization_id FROM webhook_delivery WHERE job_id = $1', [jobId]);
    const { secret: rotated } = await engine.secrets.rotate(organizationId, COMMAND_LINE);
    await next();
    const [first, second] = deliveries.host.seen;
    if (first === undefined || second === undefined) throw new Error('two were to arrive');
    expect(() => verify(first, secret)).not.toThrow();
    expect(() => verify(second, rotated)).not.toThrow();
    expect(() => verify(second, secret)).toThrow(/wrong/);
  });
});
