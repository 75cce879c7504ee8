import { JobMoneyRepository } from '../../../src/media-jobs/job-money.repository';
import { JobRemoval } from '../../../src/media-jobs/job-removal';
import { MediaJobRepository } from '../../../src/media-jobs/media-job.repository';
import { StoredObjects } from '../../../src/core/storage/stored-objects';
import type { CallReply } from '../../harness/gateway';
import { JobGateway, type Stage, VIDEO } from '../create-video/job-gateway';

let served: JobGateway;

beforeAll(async () => {
  served = await JobGateway.start();
});
afterAll(() => served.stop());

const FAILED = { status: 'failed', error: { code: 'provider_error', message: 'It did not work.' } } as const;

describe('200: a job in progress', () => {
  it.each<Stage>(['claimed', 'submitting', 'submitted', 'running'])(
    'is canceled when it is %s, and its hold is released',
    async (stage) => {
      const before = await served.balance();
      const id = await served.submitted();
      await served.workOn(id, stage);
      const { status, json } = await served.deleteVideo(id);
      expect([status, json.status, json.cost_micro, json.error]).toEqual([200, 'canceled', 0, null]);
      expect(json).toEqual((await served.getJob(id)).json);
      expect(await served.balance()).toBe(before);
    },
  );

  it('is canceled before any worker has claimed it', async () => {
    const { status, json } = await served.deleteVideo(await served.submitted());
    expect([status, json.status]).toEqual([200, 'canceled']);
  });

  it('gets a receipt and is canceled at its provider', async () => {
    const id = await served.submitted();
    await served.workOn(id, 'running');
    await served.deleteVideo(id);
    const receipt = 'SELECT status, charged_micro FROM usage_record WHERE id = $1';
    expect(await served.gateway.rows(receipt, [id])).toEqual([{ status: 499, charged_micro: '0' }]);
    const due = 'SELECT cancel_due_at IS NOT NULL AS due FROM media_job WHERE id = $1';
    expect(await served.gateway.rows(due, [id])).toEqual([{ due: true }]);
  });

  it('is canceled also when its result has been fetched for more than a minute', async () => {
    const id = await served.submitted();
    await served.workOn(id, 'finalizing');
    await served.letFinalize(id, 61);
    expect((await served.deleteVideo(id)).status).toBe(200);
  });

  // Some clients send a Content-Type with every request.
  it('is canceled, then deleted, whatever the Content-Type of the absent body', async () => {
    const id = await served.submitted();
    const options = {
      key: served.customer.key,
      method: 'DELETE',
      headers: { 'content-type': 'application/json', 'content-length': '0' },
    };
    for (const status of [200, 204, 404]) {
      expect(await served.gateway.call(`${VIDEO}/${id}`, options)).toMatchObject({ status });
    }
  });

  it('is canceled by one of two concurrent requests and deleted by the other', async () => {
    for (let index = 0; index < 10; index++) {
      const id = await served.submitted();
      if (index % 2 === 1) await served.workOn(id, 'running');
      const replies = await Promise.all([served.deleteVideo(id), served.deleteVideo(id)]);
      expect(replies.map(({ status }) => status).toSorted()).toEqual([200, 204]);
      expect((await served.getJob(id)).status).toBe(404);
    }
  });
});

describe('409 job_not_cancellable', () => {
  const expectUnchanged = async (id: string): Promise<void> => {
    const before = await served.job(id);
    const { status, json, headers } = await served.deleteVideo(id);
    expect([status, json.error.code, json.error.type]).toEqual([409, 'job_not_cancellable', 'conflict_error']);
    expect(headers.get('x-should-retry')).toBe('false');
    expect(await served.job(id)).toEqual(before);
  };

  it('while its result is being fetched', async () => {
    const id = await served.submitted();
    await served.workOn(id, 'finalizing');
    await expectUnchanged(id);
  });

  it.each<Stage>(['submitting', 'submitted', 'running'])(
    'when the provider does not cancel a job that is %s',
    async (stage) => {
      const id = await served.submitted({ model: 'mock/video-basic-1' });
      await served.workOn(id, stage, 'mock-media-basic');
      await expectUnchanged(id);
    },
  );

  it('is not returned for a job that no provider has received', async () => {
    const id = await served.submitted({ model: 'mock/video-basic-1' });
    await served.workOn(id, 'claimed');
    expect((await served.deleteVideo(id)).status).toBe(200);
  });
});

describe('a race between reading a job and ending it', () => {
  /** Runs `happen` right after DELETE has chosen its action. */
  async function deleteWhile(id: string, happen: () => Promise<unknown>): Promise<CallReply> {
    const money = served.service(JobMoneyRepository);
    const finish = jest.spyOn(money, 'finish').mockImplementationOnce(async (...ending) => {
      await happen();
      return money.finish(...ending);
    });
    try {
      return await served.deleteVideo(id);
    } finally {
      finish.mockRestore();
    }
  }

  it('is detected: an accepted job that its provider does not cancel continues', async () => {
    const id = await served.submitted({ model: 'mock/video-basic-1' });
    const reply = await deleteWhile(id, () => served.workOn(id, 'submitted', 'mock-media-basic'));
    expect([reply.status, (await served.job(id)).status]).toEqual([409, 'submitted']);
  });

  it('does not prevent the cancellation', async () => {
    const id = await served.submitted();
    const reply = await deleteWhile(id, () => served.workOn(id, 'running'));
    expect([reply.status, reply.json.status, reply.json.progress]).toEqual([200, 'canceled', 40]);
  });

  it('keeps a result that just arrived and reports it; the next DELETE removes it', async () => {
    const id = await served.submitted();
    const reply = await deleteWhile(id, () => served.succeed(id));
    expect([reply.status, reply.json.error.code]).toEqual([409, 'job_not_cancellable']);
    expect((await served.getJob(id)).json).toMatchObject({ status: 'succeeded', artifacts: [{ type: 'video' }] });
    expect((await served.deleteVideo(id)).status).toBe(204);
  });

  it('deletes a job that just failed', async () => {
    const id = await served.submitted();
    const reply = await deleteWhile(id, async () => served.finish(await served.job(id), FAILED));
    expect([reply.status, (await served.getJob(id)).status]).toEqual([204, 404]);
  });
});

describe('204: a finished job', () => {
  it.each(['succeeded', 'failed', 'canceled'] as const)('is deleted when it is %s', async (status) => {
    const customer = await served.gateway.customer();
    const id = await served.submitted({ webhook_url: 'https://hooks.example/a' }, customer);
    if (status === 'succeeded') await served.succeed(id);
    if (status === 'failed') await served.finish(await served.job(id), FAILED);
    if (status === 'canceled') await served.deleteVideo(id, customer);
    const artifact: unknown = (await served.getJob(id, customer)).json.artifacts[0];
    const charged = 10_000_000 - (await served.balance(customer));
    expect(charged).toBe(status === 'succeeded' ? 1_000 : 0);
    const reply = await served.deleteVideo(id, customer);
    expect([reply.status, reply.bytes.length, reply.headers.get('content-type')]).toEqual([204, 0, null]);
    expect([(await served.getJob(id, customer)).status, (await served.deleteVideo(id, customer)).status]).toEqual([
      404, 404,
    ]);
    for (const table of ['media_job WHERE id', 'media_artifact WHERE job_id']) {
      expect(await served.gateway.rows(`SELECT FROM ${table} = $1`, [id])).toEqual([]);
    }
    expect(await served.objects(customer)).toEqual([]);
    if (status === 'succeeded') expect((await fetch((artifact as { url: string }).url)).status).toBe(404);
    expect(await served.gateway.rows('SELECT FROM usage_record WHERE id = $1', [id])).toHaveLength(1);
    expect(await served.balance(customer)).toBe(10_000_000 - charged);
  });

  it('disappears for its client even when the storage is unavailable; its files are deleted later', async () => {
    const customer = await served.gateway.customer();
    const id = await served.submitted({}, customer);
    await served.succeed(id);
    const deletion = jest
      .spyOn(served.service(StoredObjects), 'deleteAll')
      .mockRejectedValueOnce(new Error('unavailable'));
    expect((await served.deleteVideo(id, customer)).status).toBe(204);
    deletion.mockRestore();
    expect((await served.getJob(id, customer)).status).toBe(404);
    const left = (await served.service(MediaJobRepository).findDeleted(1_000)).find((job) => job.id === id);
    expect(left).toEqual({ id, organizationId: customer.organizationId, kind: 'video' });
    if (left !== undefined) await served.service(JobRemoval).remove(left);
    expect(await served.objects(customer)).toEqual([]);
    expect(await served.gateway.rows('SELECT FROM media_job WHERE id = $1', [id])).toEqual([]);
  });

  it('disappears at once, but its row stays until the provider has canceled it', async () => {
    const id = await served.submitted();
    await served.workOn(id, 'running');
    expect([(await served.deleteVideo(id)).status, (await served.deleteVideo(id)).status]).toEqual([200, 204]);
    expect((await served.getJob(id)).status).toBe(404);
    expect(
      await served.gateway.rows('SELECT FROM media_job WHERE id = $1 AND cancel_due_at IS NOT NULL', [id]),
    ).toHaveLength(1);
  });
});
