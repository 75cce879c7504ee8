import { Logger } from '@nestjs/common';
import { systemClock } from '../../../src/core/time/clock';
import { JobReportAddress } from '../../../src/media-jobs/job-report-address';
import { makeWebhookSecret, signatureHeaders } from '../../../src/webhooks/webhook-signature';
import { FakeUpstream } from '../../conformance/fake-upstream';
import { JobGateway } from '../create-video/job-gateway';

const BASE_URL = 'https://gateway.example';
const BODY = '{"id":"upstream","status":"succeeded"}';
const SECRET = makeWebhookSecret();

let replicate: FakeUpstream;
/** Down while it is not set. */
let secret: string | null = null;
let jobs: JobGateway;
beforeAll(async () => {
  replicate = await FakeUpstream.start();
  replicate.answer = (response, { url, headers }) => {
    const isKnown = url === '/webhooks/default/secret' && headers.authorization === 'Bearer a-key';
    response.statusCode = isKnown && secret !== null ? 200 : 503;
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ key: secret }));
  };
  jobs = await JobGateway.start({
    PUBLIC_BASE_URL: BASE_URL,
    REPLICATE_API_KEY: 'a-key',
    REPLICATE_BASE_URL: replicate.origin,
  });
});
afterEach(() => void jest.restoreAllMocks());
afterAll(async () => {
  await jobs.stop();
  await replicate.stop();
});

/** The path for reports about a job that runs at Replicate and waits for its next poll. */
async function waiting(): Promise<{ readonly id: string; readonly path: string }> {
  const id = await jobs.submitted();
  await jobs.workOn(id, 'running', 'replicate');
  await jobs.gateway.rows(`UPDATE media_job SET next_run_at = now() + interval '5 minutes' WHERE id = $1`, [id]);
  const address = jobs.service(JobReportAddress).of((await jobs.job(id)).providerToken ?? '') ?? '';
  return { id, path: address.slice(BASE_URL.length) };
}

const isDue = async (id: string): Promise<boolean> => (await jobs.job(id)).nextRunAt.getTime() <= Date.now() + 1_000;
const signed = (ageSeconds = 0, key = SECRET) =>
  signatureHeaders(
    { id: 'msg-1', timestamp: Math.floor(Date.now() / 1_000) - ageSeconds, body: Buffer.from(BODY) },
    key,
  );
const report = (path: string, headers: Record<string, string>, body = BODY) =>
  jobs.gateway.call(path, { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body });

describe('a report of a provider that signs', () => {
  it('gets 503 and wakes nothing while the secret cannot be fetched, which is tried every ten seconds', async () => {
    jest.spyOn(Logger.prototype, 'warn').mockImplementation();
    const { id, path } = await waiting();
    for (const headers of [signed(), signed(), signed(0, makeWebhookSecret())]) {
      const { status, json } = await report(path, headers);
      expect([status, json.error.code, await isDue(id)]).toEqual([503, 'service_unavailable', false]);
    }
    expect(replicate.received).toHaveLength(1);
    secret = SECRET;
    jest.spyOn(systemClock, 'monotonic').mockImplementation(() => performance.now() + 10_000);
    expect([(await report(path, signed())).status, await isDue(id)]).toEqual([200, true]);
  });

  it.each([
    ['is not signed', {}, BODY],
    ['is altered', signed(), `${BODY} `],
    ['was signed more than five minutes ago', signed(310), BODY],
    ['was signed with another secret', signed(0, makeWebhookSecret()), BODY],
    ['has no readable body', { ...signed(), 'content-type': 'text/plain' }, BODY],
    ['is too large to be read', signed(), JSON.stringify({ logs: 'a'.repeat(66_000) })],
  ])('gets 400 and wakes nothing if it %s, and a valid one still counts', async (_what, headers, body) => {
    secret = SECRET;
    const { id, path } = await waiting();
    const { status, json } = await report(path, headers as Record<string, string>, body);
    expect([status, json.error.code, await isDue(id)]).toEqual([400, 'validation_failed', false]);
    expect([(await report(path, signed())).status, await isDue(id)]).toEqual([200, true]);
  });

  it('that is replayed at once makes no other poll due', async () => {
    secret = SECRET;
    const { id, path } = await waiting();
    const headers = signed();
    await report(path, headers);
    await jobs.gateway.rows(`UPDATE media_job SET next_run_at = now() + interval '5 minutes' WHERE id = $1`, [id]);
    expect([(await report(path, headers)).status, await isDue(id)]).toEqual([200, false]);
  });

  it('needs no signature once the job has ended', async () => {
    const { id, path } = await waiting();
    await jobs.gateway.rows(`UPDATE media_job SET next_run_at = now() WHERE id = $1`, [id]);
    expect((await jobs.deleteVideo(id)).status).toBe(200);
    expect((await report(path, {})).status).toBe(200);
  });
});
