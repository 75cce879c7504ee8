import type { DashboardClient } from '../../../harness/dashboard-client';
import { JobGateway } from '../../create-video/job-gateway';
import { OPERATOR } from './operator-stage';

let served: JobGateway;
let operator: DashboardClient;
beforeAll(async () => {
  served = await JobGateway.start();
  operator = await served.gateway.dashboardUser({ operator: true });
});
afterAll(() => served.stop());

const summary = async () => (await operator.call(`${OPERATOR}/jobs/summary`)).json;

describe('the number of jobs on the platform', () => {
  it('is empty without jobs', async () => {
    expect(await summary()).toMatchObject({ data: [], oldest_waiting: null });
  });

  it('counts the jobs of all organizations by status and provider, and names the one that waits longest', async () => {
    const other = await served.gateway.customer();
    await served.workOn(await served.submitted(), 'running');
    const waiting = await served.submitted({}, other);
    await served.submitted();
    await served.workOn(await served.submitted({}, other), 'submitted', 'another');
    await served.succeed(await served.submitted());
    await served.succeed(await served.submitted({}, other));
    await served.deleteVideo(await served.submitted());
    const { data, oldest_waiting: oldest } = await summary();
    expect(data).toEqual([
      { status: 'queued', provider: null, jobs: 2 },
      { status: 'submitted', provider: 'another', jobs: 1 },
      { status: 'running', provider: 'mock-media', jobs: 1 },
      { status: 'succeeded', provider: 'mock-media', jobs: 2 },
      { status: 'canceled', provider: null, jobs: 1 },
    ]);
    const job = await served.job(waiting);
    expect(oldest).toEqual({
      id: waiting,
      organization_id: other.organizationId,
      model: 'mock/video-1',
      created_at: job.createdAt.toISOString(),
    });
  });

  it('leaves out jobs that ended more than a day ago, but none that is under way', async () => {
    const { data: before, ended_since: since } = await summary();
    expect(Date.now() - Date.parse(since)).toBeGreaterThanOrEqual(86_400_000);
    const client = await served.gateway.pool.connect();
    await client.query('SET session_replication_role = replica');
    await client.query(`UPDATE media_job SET created_at = created_at - interval '2 days',
                               completed_at = completed_at - interval '2 days'`);
    await client.query('RESET session_replication_role');
    client.release();
    const { data } = await summary();
    const underWay = before.filter(({ status }: { status: string }) => !['succeeded', 'canceled'].includes(status));
    expect(data).toEqual(underWay);
  });
});
