import { endChildren, findFreePort } from '../harness/child-process';
import { createTestDatabase, type TestDatabase } from '../harness/database';
import { createDataDirectory } from '../harness/gateway-process';
import { createTestRedis } from '../harness/redis';
import { WorkerProcess } from '../harness/worker-process';

describe('the probe server of a separate worker', () => {
  const directory = createDataDirectory();
  let database: TestDatabase;
  let worker: WorkerProcess;
  let managementUrl: string;
  beforeAll(async () => {
    database = await createTestDatabase();
    const { url: redisUrl } = createTestRedis();
    const port = await findFreePort();
    managementUrl = `http://127.0.0.1:${port}`;
    worker = await WorkerProcess.start({
      databaseUrl: database.url,
      redisUrl,
      dataDir: directory.path,
      environment: { MANAGEMENT_PORT: String(port) },
    });
  });
  afterAll(async () => {
    await endChildren();
    await database.drop();
    directory.remove();
  });
  const call = (path: string, method = 'GET') => fetch(`${worker.url}${path}`, { method });

  it.each(['/health', '/ready'])('answers %s', async (path) => {
    let response = await call(path);
    // Not ready while one of its servers is slow.
    while (response.status === 503) response = await call(path);
    expect([response.status, await response.json()]).toEqual([
      200,
      expect.objectContaining({ status: expect.any(String) }),
    ]);
  });

  it('is not its management port, which has metrics of the process and of the work that waits', async () => {
    const reply = await fetch(`${managementUrl}/metrics`);
    const text = await reply.text();
    expect(text).toMatch(/^gateway_jobs_oldest_due_seconds 0$/m);
    expect(text).toMatch(/^gateway_webhooks_pending 0$/m);
    expect(text).toMatch(/^gateway_database_connections\{pool="general",state="idle"\} \d+$/m);
    expect(text).toMatch(/^process_resident_memory_bytes \d+$/m);
    expect((await fetch(`${managementUrl}/serving`)).status).toBe(200);
  });

  it.each([
    ['GET', '/v1/models'],
    ['GET', '/v1/models/mock%2Fchat-1'],
    ['GET', '/v1/jobs/01a1fefd-b7c6-77b7-856a-7a2d456e08a6'],
    ['POST', '/v1/video/generations'],
    ['POST', '/health'],
    ['GET', '/nothing'],
  ])('returns 404 for anything else, such as %s %s', async (method, path) => {
    const response = await call(path, method);
    const { error } = (await response.json()) as { error: object };
    expect([response.status, error]).toEqual([
      404,
      {
        type: 'not_found_error',
        code: 'not_found',
        message: 'There is no such endpoint.',
        request_id: response.headers.get('x-request-id'),
      },
    ]);
  });
});
