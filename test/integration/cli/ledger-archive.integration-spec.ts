import { serverSettings } from '../../harness/servers';
import { S3Server } from '../../harness/s3-server';
import { type ArchiveStage, dayBefore, openBucket, readDayStates, startArchiveStage } from '../billing/archive-stage';
import { type Cli, createCli } from './run-cli';
import type { S3Storage } from '../../../src/core/storage/s3-storage';

describe('gateway ledger archive verify', () => {
  let server: S3Server;
  let bucket: S3Storage;
  let stage: ArchiveStage;
  let cli: Cli;

  const settings = () => ({
    ...serverSettings(stage.url),
    S3_BUCKET: S3Server.BUCKET,
    S3_ENDPOINT: server.url,
    S3_ACCESS_KEY_ID: S3Server.CREDENTIALS.accessKeyId,
    S3_SECRET_ACCESS_KEY: S3Server.CREDENTIALS.secretAccessKey,
  });

  beforeAll(async () => {
    server = await S3Server.start();
    bucket = await openBucket(server);
    stage = await startArchiveStage(bucket, { count: 340 });
    cli = createCli(settings());
  });
  afterAll(async () => {
    cli.close();
    await stage.close();
    bucket.close();
    await server.stop();
  });

  it('reads an archived day again, says whether it is whole, and changes nothing', async () => {
    const [{ day, requests } = { day: '', requests: 0 }] = await readDayStates(stage.pool);
    await stage.process().archive();
    const verified = await cli.json<{ object_key: string }>('ledger', 'archive', 'verify', day);
    const { object_key: key } = verified;
    expect(verified).toEqual({ day, object_key: key, ok: true, requests, charged_micro: expect.any(Number) });

    const object = (await bucket.read(key)) ?? Buffer.alloc(0);
    await bucket.put(key, object.subarray(0, -9));
    const cut = await cli.run('ledger', 'archive', 'verify', day);
    expect([cut.exitCode, cut.stdout]).toEqual([1, expect.stringContaining('cannot be decompressed')]);
    await bucket.delete(key);
    const lost = await cli.run('ledger', 'archive', 'verify', day, '--json');
    expect([lost.exitCode, JSON.parse(lost.stdout)]).toEqual([
      1,
      { day, object_key: key, ok: false, difference: 'the object does not exist' },
    ]);
    await bucket.put(key, object);
    expect((await cli.run('ledger', 'archive', 'verify', day)).exitCode).toBe(0);
  });

  it('explains what it cannot read', async () => {
    const kept = await dayBefore(stage.pool, 3);
    expect(await cli.run('ledger', 'archive', 'verify', kept)).toMatchObject({
      exitCode: 1,
      stderr: `error: ${kept} is not archived.\n`,
    });
    expect((await cli.run('ledger', 'archive', 'verify', 'yesterday')).exitCode).toBe(2);
  });

  it.each([
    ['the key is refused', { S3_SECRET_ACCESS_KEY: 'wrong' }, /SignatureDoesNotMatch/],
    ['there is no such bucket', { S3_BUCKET: 'another-bucket' }, /NoSuchBucket/],
    ['nothing answers', { S3_ENDPOINT: 'http://127.0.0.1:1' }, /ECONNREFUSED/],
  ])('says why the storage cannot be read: %s', async (_name, change, reason) => {
    await stage.process().archive();
    const { rows } = await stage.pool.query<{ day: string }>('SELECT min(day)::text AS day FROM ledger_archive');
    const other = createCli({ ...settings(), ...change });
    const { exitCode, stdout, stderr } = await other.run('ledger', 'archive', 'verify', String(rows[0]?.day));
    other.close();
    expect([exitCode, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(/^error: The object storage cannot be read: .+\n$/);
    expect(stderr).toMatch(reason);
  });
});
