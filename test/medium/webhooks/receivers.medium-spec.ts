import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { COMMAND_LINE } from '../../../src/common/actor';
import { nodeAt, openapiDocument } from '../../harness/openapi-document';
import type { SeenRequest } from '../../harness/public-host';
import { ScriptedDns } from '../../harness/scripted-dns';
import { takeAttempts } from '../../harness/socket-watch';
import { expectDueIn, NAME, ToldDeliveries } from './told-delivery';
import { deliveryOf, type EngineSettings, letPass, logOf, requestIdOf, verify } from './webhook-engine';

const PAUSES_S = [5, 300, 1_800, 7_200, 18_000, 36_000, 36_000];

const deliveries = ToldDeliveries.setUp();

/** The headers that the document promises. */
function expectDocumented({ headers }: SeenRequest): void {
  const operation = nodeAt(openapiDocument(), '/webhooks/jobFinished/post')?.value;
  const promised = operation?.parameters as { name: string; schema: { pattern?: string } }[];
  expect(promised.length).toBeGreaterThanOrEqual(5);
  for (const { name, schema } of promised) {
    expect(headers[name.toLowerCase()]).toMatch(new RegExp(schema.pattern ?? '.', 'u'));
  }
}

describe('a receiver', () => {
  it('that fails three times and then answers is told four times of one event, on schedule, and never again', async () => {
    const delivery = await deliveries.tell();
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
    // Made anew each time, with fresh addresses of the artifacts.
    expect(new Set(deliveries.host.seen.map(({ body }) => body)).size).toBe(4);
  });

  it('that always fails is told eight times, then no more', async () => {
    deliveries.answerWith(503);
    const delivery = await deliveries.tell();
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

  it('that is gone is told once', async () => {
    deliveries.answerWith(410);
    const { engine, jobId, next } = await deliveries.tell();
    await next();
    expect(await deliveryOf(engine, jobId)).toMatchObject({ state: 'gone', last_status: 410, last_error: 'gone' });
    await letPass(engine, jobId, 86_400);
    expect(await engine.service.deliverDue()).toBe(0);
    expect(deliveries.host.seen).toHaveLength(1);
  });

  it.each([429, 503])('that says with %s when to come back is left alone until then', async (status) => {
    deliveries.answerWith(status, { 'retry-after': '600' });
    const delivery = await deliveries.tell();
    await delivery.next();
    await expectDueIn(delivery, 600);
    deliveries.answerWith(status, { 'retry-after': '86400' });
    await delivery.next();
    await expectDueIn(delivery, 3_600);
  });

  it('that sends elsewhere is not followed', async () => {
    let connections = 0;
    const elsewhere = createServer(() => connections++).listen(0, '127.0.0.1');
    await once(elsewhere, 'listening');
    try {
      const { port } = elsewhere.address() as AddressInfo;
      deliveries.answerWith(302, { location: `https://127.0.0.1:${port}/` });
      const delivery = await deliveries.tell();
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
      'drips its answer byte by byte',
      () =>
        (deliveries.host.answer = ({ socket }) => {
          const bytes = [...`HTTP/1.1 200 OK\r\nx-slow: ${'x'.repeat(1_000)}\r\n\r\n`];
          const drip = setInterval(() => socket?.write(bytes.shift() ?? ''), 20);
          socket?.on('close', () => clearInterval(drip));
        }),
    ],
  ])('that %s has failed when its time is over', async (_what, script) => {
    script();
    const delivery = await deliveries.tell({ outbound: { limits: { webhookMs: 400 } } });
    await delivery.next();
    await expectDueIn(delivery, 5);
    expect(await logOf(delivery.engine, delivery.jobId)).toEqual([[1, null, 'unreachable']]);
  });

  it.each<[string, EngineSettings, string]>([
    ['has the certificate of another', { outbound: { resolve: async () => ['127.0.0.1'] } }, 'other.example.com'],
    ['has no address', { outbound: { resolve: async () => [] } }, NAME],
    [
      'has a name server that says nothing',
      { outbound: { resolve: () => new Promise(() => undefined), limits: { lookupMs: 50 } } },
      NAME,
    ],
  ])('that %s hears nothing, and is tried again', async (_what, settings, name) => {
    deliveries.answerWith(200);
    const delivery = await deliveries.tell(settings, deliveries.host.url('/hook', name));
    await delivery.next();
    await expectDueIn(delivery, 5);
    expect(await logOf(delivery.engine, delivery.jobId)).toEqual([[1, null, 'unreachable']]);
    expect(deliveries.host.seen).toEqual([]);
  });

  it('whose name turns private at the third attempt gets no socket then, and the fourth when it is public again', async () => {
    const { resolve } = new ScriptedDns({ [NAME]: [['127.0.0.1'], ['127.0.0.1'], ['10.0.0.1'], ['127.0.0.1']] });
    const { engine, jobId, next } = await deliveries.tell(
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

  it('of a rotated secret gets what the new one signs', async () => {
    deliveries.answerWith(500);
    const { engine, jobId, secret, next } = await deliveries.tell();
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
