import { type Clock, systemClock } from '../../../src/core/time/clock';
import { MediaJobRepository } from '../../../src/media-jobs/media-job.repository';
import { WebhookDeliveryRepository } from '../../../src/webhooks/webhook-delivery.repository';
import { WebhookLogRepository } from '../../../src/webhooks/webhook-log.repository';
import type { JobDelivery } from '../../../src/webhooks/webhook.types';
import { expectDueIn, PendingDeliveries } from './pending-delivery';
import { deliveryOf, JobRows, letPass, logOf } from './webhook-engine';

const deliveries = PendingDeliveries.setUp();

describe('recording webhook attempts', () => {
  it('withdraws the delivery of a deleted job without a post', async () => {
    const { engine, jobId, next } = await deliveries.create();
    await engine.dataSource.query('UPDATE media_job SET deleted_at = now() WHERE id = $1', [jobId]);
    await next();
    expect(await deliveryOf(engine, jobId)).toMatchObject({ state: 'withdrawn', attempt: 0, has_ended: true });
    expect(deliveries.host.seen).toEqual([]);
  });

  it('logs an attempt whose job is removed during the post', async () => {
    const { engine, organizationId, jobId, next } = await deliveries.create();
    const jobs = new MediaJobRepository(engine.dataSource);
    deliveries.host.answer = async (response) => {
      await engine.dataSource.query('UPDATE media_job SET deleted_at = now() WHERE id = $1', [jobId]);
      await jobs.remove({ organizationId, id: jobId });
      response.writeHead(200).end();
    };
    await next();
    expect(await deliveryOf(engine, jobId)).toMatchObject({ state: 'delivered', attempt: 1 });
    expect(await logOf(engine, jobId)).toEqual([[1, 200, null]]);
  });

  it('does not count an attempt whose body cannot be built', async () => {
    deliveries.answerWith(200);
    let broken = true;
    class Broken extends JobRows {
      override build(delivery: JobDelivery) {
        return broken ? Promise.reject(new Error('storage is unavailable')) : super.build(delivery);
      }
    }
    const delivery = await deliveries.create({ source: (dataSource) => new Broken(dataSource) });
    await delivery.next();
    await expectDueIn(delivery, 10);
    broken = false;
    await delivery.next();
    expect(await logOf(delivery.engine, delivery.jobId)).toEqual([[1, 200, null]]);
  });

  it('retries recording a delivered post instead of posting again', async () => {
    deliveries.answerWith(200);
    let failures = 1;
    class Flaky extends WebhookDeliveryRepository {
      override record(...parameters: Parameters<WebhookDeliveryRepository['record']>) {
        return failures-- > 0 ? Promise.reject(new Error('the database is unavailable')) : super.record(...parameters);
      }
    }
    const { engine, jobId, next } = await deliveries.create({ repository: (dataSource) => new Flaky(dataSource) });
    await next();
    expect(await deliveryOf(engine, jobId)).toMatchObject({ state: 'delivered', attempt: 1 });
    expect(deliveries.host.seen).toHaveLength(1);
  });

  it('does not post or count an attempt when the claim could expire during the post', async () => {
    deliveries.answerWith(200);
    let nowMs = 0;
    const clock: Clock = { now: systemClock.now, monotonic: () => nowMs };
    class Slow extends JobRows {
      override build(delivery: JobDelivery) {
        nowMs += 45_000;
        return super.build(delivery);
      }
    }
    const { engine, jobId, next } = await deliveries.create({ clock, source: (dataSource) => new Slow(dataSource) });
    await next();
    expect(deliveries.host.seen).toEqual([]);
    expect(await deliveryOf(engine, jobId)).toMatchObject({ state: 'pending', attempt: 0, is_leased: false });
  });

  it('records nothing after the claim is lost', async () => {
    const { engine, jobId } = await deliveries.create();
    const [lost] = await engine.repository.claim(1);
    await letPass(engine, jobId, 61);
    const [current] = await engine.repository.claim(1);
    if (lost === undefined || current === undefined) throw new Error('it was to be claimed twice');
    const outcome = { status: 500, error: 'rejected' } as const;
    await expect(engine.repository.record(lost, outcome, 1, { state: 'exhausted' })).resolves.toBeNull();
    await engine.repository.putBack(lost, 0);
    await engine.repository.withdraw(lost);
    expect(await deliveryOf(engine, jobId)).toMatchObject({ state: 'pending', attempt: 2, is_leased: true });
    await expect(
      engine.repository.record(current, { status: 200, error: null }, 1, { state: 'delivered' }),
    ).resolves.toBe('delivered');
    await expect(engine.repository.record(current, outcome, 1, { state: 'exhausted' })).resolves.toBeNull();
    expect(await logOf(engine, jobId)).toEqual([[2, 200, null]]);
  });

  it.each([
    ['the first', 0],
    ['the last', 7],
  ])(
    'begins a new round at once when sending again is requested during %s attempt and it fails',
    async (_which, earlier) => {
      const { engine, organizationId, jobId, next } = await deliveries.create();
      const log = new WebhookLogRepository(engine.dataSource);
      await engine.dataSource.query('UPDATE webhook_delivery SET attempt = $2 WHERE job_id = $1', [jobId, earlier]);
      deliveries.host.answer = async (response) => {
        await log.transaction(async (manager) => {
          const [found] = await log.findOfJob(jobId, organizationId);
          const delivery = await log.lock(manager, found?.id ?? '', organizationId);
          if (delivery !== null) await log.sendAgain(manager, delivery);
        });
        response.writeHead(500).end();
      };
      await next();
      const pending = await deliveryOf(engine, jobId);
      expect(pending).toMatchObject({ state: 'pending', attempt: earlier + 1, has_ended: false, is_leased: false });
      expect(pending.due_in).toBeLessThanOrEqual(0);

      deliveries.answerWith(500);
      await next();
      expect(await deliveryOf(engine, jobId)).toMatchObject({ state: 'pending', attempt: earlier + 2 });
    },
  );

  it('deletes ended deliveries and their logs after 30 days, but not pending ones', async () => {
    deliveries.answerWith(200);
    const { engine, jobId, next } = await deliveries.create();
    await next();
    const age = `UPDATE webhook_delivery SET created_at = created_at - interval '30 days 1 hour' WHERE job_id = $1`;
    const recent = await deliveries.create();
    await recent.next();
    const waiting = await deliveries.create();
    await Promise.all([jobId, waiting.jobId].map((id) => engine.dataSource.query(age, [id])));
    await expect(engine.repository.prune(100)).resolves.toBe(1);
    await expect(deliveryOf(engine, jobId)).rejects.toThrow('no delivery of job');
    expect(await logOf(engine, recent.jobId)).toHaveLength(1);
    expect(await deliveryOf(engine, waiting.jobId)).toMatchObject({ state: 'pending' });
  });

  it('deletes old deliveries without waiting for one that another transaction has locked', async () => {
    deliveries.answerWith(200);
    const locked = await deliveries.create();
    await locked.next();
    const free = await deliveries.create();
    await free.next();
    const { dataSource, repository } = locked.engine;
    await dataSource.query(
      `UPDATE webhook_delivery SET created_at = created_at - interval '31 days'
                             WHERE job_id = ANY ($1)`,
      [[locked.jobId, free.jobId]],
    );
    await dataSource.transaction(async (manager) => {
      await manager.query('SELECT FROM webhook_delivery WHERE job_id = $1 FOR UPDATE', [locked.jobId]);
      await expect(repository.prune(100)).resolves.toBe(1);
    });
    await expect(repository.prune(100)).resolves.toBe(1);
  });
});
