import { type Clock, systemClock } from '../../../src/common/clock';
import { WebhookDeliveryRepository } from '../../../src/webhooks/webhook-delivery.repository';
import type { JobDelivery } from '../../../src/webhooks/webhook.types';
import { expectDueIn, ToldDeliveries } from './told-delivery';
import { deliveryOf, JobRows, letPass, logOf } from './webhook-engine';

const deliveries = ToldDeliveries.setUp();

describe('on this side of the wire', () => {
  it('nobody hears of a job that was deleted in the meantime', async () => {
    const { engine, jobId, next } = await deliveries.tell();
    await engine.dataSource.query('UPDATE media_job SET deleted_at = now() WHERE id = $1', [jobId]);
    await next();
    expect(await deliveryOf(engine, jobId)).toMatchObject({ state: 'withdrawn', attempt: 0, has_ended: true });
    expect(deliveries.host.seen).toEqual([]);
  });

  it('a job that is removed during the post leaves nothing behind', async () => {
    const { engine, jobId, next } = await deliveries.tell();
    deliveries.host.answer = (response) =>
      void engine.dataSource
        .query('DELETE FROM media_job WHERE id = $1', [jobId])
        .then(() => response.writeHead(200).end());
    await next();
    await expect(deliveryOf(engine, jobId)).rejects.toThrow('nothing is to be told');
    expect(deliveries.host.seen).toHaveLength(1);
  });

  it('a message that cannot be made costs no attempt', async () => {
    deliveries.answerWith(200);
    let broken = true;
    class Broken extends JobRows {
      override build(delivery: JobDelivery) {
        return broken ? Promise.reject(new Error('storage is away')) : super.build(delivery);
      }
    }
    const delivery = await deliveries.tell({ source: (dataSource) => new Broken(dataSource) });
    await delivery.next();
    await expectDueIn(delivery, 10);
    broken = false;
    await delivery.next();
    expect(await logOf(delivery.engine, delivery.jobId)).toEqual([[1, 200, null]]);
  });

  it('what has arrived is noted down by trying again, not by posting again', async () => {
    deliveries.answerWith(200);
    let failures = 1;
    class Flaky extends WebhookDeliveryRepository {
      override record(...parameters: Parameters<WebhookDeliveryRepository['record']>) {
        return failures-- > 0 ? Promise.reject(new Error('the database is away')) : super.record(...parameters);
      }
    }
    const { engine, jobId, next } = await deliveries.tell({ repository: (dataSource) => new Flaky(dataSource) });
    await next();
    expect(await deliveryOf(engine, jobId)).toMatchObject({ state: 'delivered', attempt: 1 });
    expect(deliveries.host.seen).toHaveLength(1);
  });

  it('nothing is posted when the claim may be over before the post is, which costs no attempt', async () => {
    deliveries.answerWith(200);
    let nowMs = 0;
    const clock: Clock = { now: systemClock.now, monotonic: () => nowMs };
    class Slow extends JobRows {
      override build(delivery: JobDelivery) {
        nowMs += 45_000;
        return super.build(delivery);
      }
    }
    const { engine, jobId, next } = await deliveries.tell({ clock, source: (dataSource) => new Slow(dataSource) });
    await next();
    expect(deliveries.host.seen).toEqual([]);
    expect(await deliveryOf(engine, jobId)).toMatchObject({ state: 'pending', attempt: 0, is_leased: false });
  });

  it('who has lost the claim notes nothing down', async () => {
    const { engine, jobId } = await deliveries.tell();
    const [lost] = await engine.repository.claim(1);
    await letPass(engine, jobId, 61);
    const [current] = await engine.repository.claim(1);
    if (lost === undefined || current === undefined) throw new Error('it was to be claimed twice');
    const outcome = { status: 500, error: 'rejected' } as const;
    await expect(engine.repository.record(lost, outcome, 1, { state: 'exhausted' })).resolves.toBe(false);
    await engine.repository.putBack(lost, 0);
    await engine.repository.withdraw(lost);
    expect(await deliveryOf(engine, jobId)).toMatchObject({ state: 'pending', attempt: 2, is_leased: true });
    await expect(
      engine.repository.record(current, { status: 200, error: null }, 1, { state: 'delivered' }),
    ).resolves.toBe(true);
    await expect(engine.repository.record(current, outcome, 1, { state: 'exhausted' })).resolves.toBe(false);
    expect(await logOf(engine, jobId)).toEqual([[2, 200, null]]);
  });

  it('deliveries are forgotten after 30 days with their log, but not those still to be made', async () => {
    deliveries.answerWith(200);
    const { engine, jobId, next } = await deliveries.tell();
    await next();
    const age = `UPDATE webhook_delivery SET created_at = created_at - interval '30 days 1 hour' WHERE job_id = $1`;
    const recent = await deliveries.tell();
    await recent.next();
    const waiting = await deliveries.tell();
    await Promise.all([jobId, waiting.jobId].map((id) => engine.dataSource.query(age, [id])));
    await expect(engine.repository.prune(100)).resolves.toBe(1);
    await expect(deliveryOf(engine, jobId)).rejects.toThrow('nothing is to be told');
    expect(await logOf(engine, recent.jobId)).toHaveLength(1);
    expect(await deliveryOf(engine, waiting.jobId)).toMatchObject({ state: 'pending' });
  });
});
