import { randomInt, randomUUID } from 'node:crypto';
import { connect } from 'node:net';
import { Logger } from '@nestjs/common';
import { JobReportAddress } from '../../../src/media-jobs/job-report-address';
import { JobReports } from '../../../src/media-jobs/job-reports';
import { until } from '../../faults/figures';
import type { TestCustomer } from '../../harness/gateway';
import { exchange } from '../../harness/raw-http';
import { JobGateway } from '../create-video/job-gateway';

const BASE_URL = 'https://gateway.example';
/** Far enough that only a report makes a poll due. */
const PAUSE_SECONDS = 300;

let jobs: JobGateway;
let other: TestCustomer;
beforeAll(async () => {
  jobs = await JobGateway.start({ PUBLIC_BASE_URL: BASE_URL });
  other = await jobs.gateway.customer();
});
afterEach(() => void jest.restoreAllMocks());
afterAll(() => jobs.stop());

/** A job that waits for its next poll. */
async function waiting(customer = jobs.customer): Promise<string> {
  const id = await jobs.submitted({}, customer);
  await jobs.workOn(id, 'running');
  await postpone(id);
  return id;
}

async function postpone(id: string): Promise<void> {
  await jobs.gateway.rows('UPDATE media_job SET next_run_at = now() + make_interval(secs => $2) WHERE id = $1', [
    id,
    PAUSE_SECONDS,
  ]);
}

/** The path at which the provider reports about the latest submission of a job. */
async function pathOf(id: string): Promise<string> {
  const address = jobs.service(JobReportAddress).of((await jobs.job(id)).providerToken ?? '');
  if (address?.startsWith(`${BASE_URL}/v1/job-reports/`) !== true) throw new Error(`not an address: ${address}`);
  return address.slice(BASE_URL.length);
}

const portOf = ({ gateway }: JobGateway): number => Number(new URL(gateway.url).port);
const report = (path: string, body: unknown = { status: 'succeeded' }) =>
  jobs.gateway.call(path, { method: 'POST', body: body as object });
const isDue = async (id: string): Promise<boolean> => (await jobs.job(id)).nextRunAt.getTime() <= Date.now() + 1_000;

describe('a report of a provider', () => {
  it('makes the next poll due, and changes nothing else, whatever it claims', async () => {
    const id = await waiting();
    const before = await jobs.job(id);
    const { status, json } = await report(await pathOf(id), { status: 'failed', task_id: 'another', progress: 100 });
    expect([status, json]).toEqual([200, {}]);
    const { nextRunAt, ...after } = await jobs.job(id);
    expect(nextRunAt.getTime()).toBeLessThan(before.nextRunAt.getTime() - 1_000 * (PAUSE_SECONDS - 30));
    expect(after).toEqual({ ...before, nextRunAt: undefined });
  });

  it('that is repeated at once makes no other poll due', async () => {
    const id = await waiting();
    const path = await pathOf(id);
    await report(path);
    await postpone(id);
    expect((await report(path)).status).toBe(200);
    expect(await isDue(id)).toBe(false);
  });

  it('that is forged is refused as if there were no such path', async () => {
    const id = await waiting();
    const path = await pathOf(id);
    const signature = path.slice(path.lastIndexOf('.') + 1);
    const forged = [
      path.slice(0, -1) + (path.endsWith('A') ? 'B' : 'A'),
      path.slice(0, path.lastIndexOf('.')),
      `${path}A`,
      path.replace(/-\d+\./, '-2.'),
      `/v1/job-reports/${id}.${signature}`,
      '/v1/job-reports/unknown',
    ];
    const answers = await Promise.all(forged.map(async (each) => (await report(each)).status));
    expect(answers).toEqual(forged.map(() => 404));
    expect(await isDue(id)).toBe(false);
  });

  it('at the address of another organization’s job is about that job only', async () => {
    const [ours, theirs] = [await waiting(), await waiting(other)];
    const path = await pathOf(theirs);
    expect((await report(path.replace(theirs, ours))).status).toBe(404);
    expect((await report(path)).status).toBe(200);
    expect([await isDue(ours), await isDue(theirs)]).toEqual([false, true]);
  });

  it('about a job that has ended, or is deleted, gets the same answer', async () => {
    const ended = await jobs.submitted();
    await jobs.succeed(ended);
    const path = await pathOf(ended);
    const before = await jobs.job(ended);
    const first = await report(path);
    expect(await jobs.job(ended)).toEqual(before);
    await jobs.deleteVideo(ended);
    expect([first.status, first.text, (await report(path)).text]).toEqual([200, '{}', '{}']);
  });

  it('about an earlier submission leaves the next one alone', async () => {
    const id = await jobs.submitted();
    await jobs.workOn(id, 'submitted');
    const path = await pathOf(id);
    await jobs.gateway.rows(`UPDATE media_job SET provider_token = id || '-2' WHERE id = $1`, [id]);
    await postpone(id);
    expect((await report(path)).status).toBe(200);
    expect(await isDue(id)).toBe(false);
  });

  it('does not submit a queued job earlier', async () => {
    const id = await jobs.submitted();
    await jobs.workOn(id, 'submitting');
    await postpone(id);
    await report(await pathOf(id));
    expect(await isDue(id)).toBe(false);
  });

  it('returns the challenge with which a provider verifies the address', async () => {
    const path = await pathOf(await waiting());
    expect((await report(path, { challenge: 'a1b2' })).json).toEqual({ challenge: 'a1b2' });
    expect((await report(path, { challenge: 'a'.repeat(201) })).json).toEqual({});
  });

  it.each([
    ['has more than 64 KiB', JSON.stringify({ a: 'a'.repeat(66_000) }), 'application/json'],
    ['has more than a refusal would read', JSON.stringify({ a: 'a'.repeat(3 * 1024 * 1024) }), 'application/json'],
    ['contains NUL bytes', '{"a":"\0"}', 'application/json'],
    ['contains an escaped NUL', '{"a":"\\u0000"}', 'application/json'],
    ['is no JSON', 'status=succeeded', 'application/x-www-form-urlencoded'],
    ['is empty', '', 'application/json'],
  ])('counts although its body %s', async (_what, body, contentType) => {
    const id = await waiting();
    const headers = { 'content-type': contentType };
    const { status, json } = await jobs.gateway.call(await pathOf(id), { method: 'POST', headers, body });
    expect([status, json, await isDue(id)]).toEqual([200, {}, true]);
  });

  it('leaves the connection usable after a body that was not read', async () => {
    const path = await pathOf(await waiting());
    const body = `{"a":"${'a'.repeat(100_000)}"}`;
    const large = `POST ${path} HTTP/1.1\r\nHost: gateway\r\nContent-Type: application/json\r\n`;
    const small = `GET /health HTTP/1.1\r\nHost: gateway\r\n\r\n`;
    const socket = connect(portOf(jobs), '127.0.0.1').setEncoding('latin1');
    let received = '';
    socket.on('data', (chunk: string) => void (received += chunk));
    socket.write(`${large}Content-Length: ${body.length}\r\n\r\n${body}${small}`);
    await until('both answers', 5_000, () => (received.match(/HTTP\/1\.1 200/g) ?? []).length === 2);
    socket.destroy();
  });

  it('that is forged is refused before its body is read', async () => {
    const path = (await pathOf(await waiting())).slice(0, -4);
    const lines = [`POST ${path} HTTP/1.1`, 'Host: gateway', 'Content-Type: application/json', 'Content-Length: 1000'];
    const { status } = await exchange(portOf(jobs), `${lines.join('\r\n')}\r\n\r\n`);
    expect(status).toBe(404);
  });
});

describe('forged addresses of reports', () => {
  let limited: JobGateway;
  beforeAll(async () => {
    limited = await JobGateway.start({
      PUBLIC_BASE_URL: BASE_URL,
      TRUST_PROXY: '127.0.0.1',
      SIGN_IN_ATTEMPTS_PER_ADDRESS: '5',
    });
  });
  afterAll(() => limited.stop());

  const callerOf = (): string => `10.${randomInt(256)}.${randomInt(256)}.${randomInt(1, 255)}`;
  const reportFrom = (address: string, token: string) =>
    limited.gateway.call(`/v1/job-reports/${token}`, { body: {}, headers: { 'x-forwarded-for': address } });

  it('are limited exactly per network in 15 minutes, under concurrency', async () => {
    const guesser = callerOf();
    const replies = await Promise.all(Array.from({ length: 8 }, () => reportFrom(guesser, randomUUID())));
    expect(replies.map(({ status }) => status).toSorted()).toEqual([404, 404, 404, 404, 404, 429, 429, 429]);
    const retryAfter = Number((await reportFrom(guesser, 'unknown')).headers.get('retry-after'));
    expect(retryAfter).toBeGreaterThan(14 * 60);
    expect(retryAfter).toBeLessThanOrEqual(15 * 60);
    expect((await reportFrom(callerOf(), 'unknown')).status).toBe(404);
  });

  it('never keep reports at valid addresses out, which come from few networks', async () => {
    const vendor = callerOf();
    const token = limited.service(JobReportAddress).of(`${randomUUID()}-1`)?.split('/').at(-1) ?? '';
    const statuses: number[] = [];
    for (let round = 0; round < 7; round++) statuses.push((await reportFrom(vendor, token)).status);
    for (let round = 0; round < 6; round++) statuses.push((await reportFrom(vendor, 'unknown')).status);
    statuses.push((await reportFrom(vendor, token)).status);
    expect(statuses).toEqual([...Array<number>(7).fill(200), ...Array<number>(5).fill(404), 429, 200]);
  });
});

describe('the signature of an address for reports', () => {
  it('is not logged when the report fails', async () => {
    const path = await pathOf(await waiting());
    const errors = jest.spyOn(Logger.prototype, 'error').mockImplementation();
    jest.spyOn(jobs.service(JobReports), 'receive').mockRejectedValue(new Error('the report failed'));
    expect((await report(path)).status).toBe(500);
    expect(errors).toHaveBeenCalledWith(expect.objectContaining({ route: '/v1/job-reports/:token' }));
    expect(JSON.stringify(errors.mock.calls)).not.toContain(path.slice(-20));
  });
});

describe('an address for reports', () => {
  it.each([[null], ['http://gateway.example']])('does not exist where the public base URL is %s', (publicBaseUrl) => {
    const config = { http: { publicBaseUrl }, apiKeyPepper: 'p'.repeat(32), dataDir: '' };
    expect(new JobReportAddress(config as never).of('01a20373-e9ea-7f82-b6d4-2951989b0e2b-1')).toBeUndefined();
  });
});
