import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { gunzipSync, gzipSync } from 'node:zlib';
import { Logger } from '@nestjs/common';
import { LedgerArchiveRepository } from '../../src/billing/ledger/ledger-archive.repository';
import { Metrics } from '../../src/core/observability/metrics/catalogue';
import { DayPartitions } from '../../src/core/partitions/day-partitions';
import { readDeploymentId } from '../../src/core/redis/deployment-identity';
import { toArchiveKey } from '../../src/core/storage/object-key';
import type { ObjectStorage } from '../../src/core/storage/object-storage';
import {
  type ArchiveParts,
  type ArchiveStage,
  INSERT_ALONE,
  PastBooks,
  readDayStates,
} from '../integration/billing/archive-stage';

class Death extends Error {}
const die = (): never => {
  throw new Death('killed');
};

describe('the archive of a day', () => {
  let books: PastBooks;
  let stage: ArchiveStage;

  beforeAll(async () => {
    books = await PastBooks.open({ count: 680 });
  });
  afterAll(() => books.close());
  beforeEach(async () => {
    stage = await books.openStage();
  });
  afterEach(async () => {
    jest.restoreAllMocks();
    await stage.close();
  });

  /** The bucket with other methods. */
  const bucketWith = (changes: Partial<ObjectStorage>): ObjectStorage => ({
    put: (key, body) => books.bucket.put(key, body),
    open: (key, signal) => books.bucket.open(key, signal),
    read: (key) => books.bucket.read(key),
    sign: (key) => books.bucket.sign(key),
    keyOf: (url) => books.bucket.keyOf(url),
    delete: (key) => books.bucket.delete(key),
    close: () => undefined,
    ...changes,
  });

  /** A process that is gone gives nothing back. */
  const mortal = (changes: Partial<LedgerArchiveRepository> = {}): LedgerArchiveRepository =>
    Object.assign(new LedgerArchiveRepository(stage.dataSource), { giveBack: async () => undefined, ...changes });

  const linesOf = async (day: string): Promise<string> => {
    const pages: string[] = [];
    for await (const { text } of stage.repository.readLines(day, 7)) pages.push(text);
    return pages.join('');
  };
  const objectOf = async (day: string) =>
    books.bucket.read(toArchiveKey(await readDeploymentId(stage.dataSource), day));

  const DEATHS: readonly (readonly [when: string, isExported: boolean, parts: () => Partial<ArchiveParts>])[] = [
    ['with the claim', false, () => ({ repository: mortal({ readLines: die }) })],
    [
      'in the middle of the upload',
      false,
      () => ({
        repository: mortal(),
        storage: bucketWith({
          put: async (key, body) => {
            const half = async function* (): AsyncGenerator<Buffer> {
              for await (const chunk of body as Readable) {
                yield (chunk as Buffer).subarray(0, chunk.length / 2);
                die();
              }
            };
            return books.bucket.put(key, Readable.from(half()));
          },
        }),
      }),
    ],
    ['after the upload', false, () => ({ repository: mortal(), storage: bucketWith({ open: die }) })],
    ['once the object is verified', false, () => ({ repository: mortal({ complete: die }) })],
    [
      'before the removal',
      true,
      () => ({
        repository: mortal(),
        partitions: Object.assign(new DayPartitions(stage.dataSource), { remove: die }),
      }),
    ],
    ['after the removal, before it is noted', true, () => ({ repository: mortal({ noteRemoved: die }) })],
  ];

  it.each(DEATHS)('is whole after a process has died %s', async (_when, isExported, parts) => {
    const days = await readDayStates(stage.pool);
    const [first = { day: '', requests: 0 }] = days;
    const lines = await linesOf(first.day);
    await expect(stage.process(parts()).archive()).rejects.toThrow('killed');

    const [state] = await readDayStates(stage.pool);
    expect(state?.is_exported).toBe(isExported);
    if (!isExported) expect(state?.requests).toBe(first.requests);
    expect(await stage.engine.ledger.verify()).toEqual([]);

    if (!isExported) {
      expect(await stage.process().archive()).toEqual(['claimed']);
      await stage.pool.query(
        `UPDATE ledger_archive SET claimed_until = claimed_until - interval '11 minutes' WHERE exported_at IS NULL`,
      );
    }
    await stage.process().archive();
    expect(await readDayStates(stage.pool)).toEqual(
      days.map(({ day }) => ({ day, is_exported: true, is_removed: true, requests: 0 })),
    );
    expect(gunzipSync((await objectOf(first.day)) ?? '').toString()).toBe(lines);
    const record = await stage.repository.readRecord(first.day);
    expect(record?.contentDigest).toEqual(createHash('sha256').update(lines).digest());
    expect(await stage.engine.ledger.verify()).toEqual([]);
  });

  const gathered = async (body: Buffer | Readable): Promise<string> => {
    const chunks: Buffer[] = [];
    for await (const chunk of body as Readable) chunks.push(chunk as Buffer);
    return gunzipSync(Buffer.concat(chunks)).toString();
  };

  it.each([
    ['a missing line', (text: string) => gzipSync(text.slice(text.indexOf('\n') + 1))],
    ['a line that is there twice', (text: string) => gzipSync(text + text.slice(0, text.indexOf('\n') + 1))],
    ['lines in another order', (text: string) => gzipSync(`${text.trimEnd().split('\n').toReversed().join('\n')}\n`)],
    ['another amount', (text: string) => gzipSync(text.replace('"amount_micro":1000', '"amount_micro":1001'))],
    ['a line that is not JSON', (text: string) => gzipSync(text.replace('{', '['))],
    ['a line without its amount', (text: string) => gzipSync(text.replace('"uncollected_micro":0', '"other":0'))],
    ['a missing end of the last line', (text: string) => gzipSync(text.trimEnd())],
    ['a missing end of the object', (text: string) => gzipSync(text).subarray(0, -20)],
    ['no compression', (text: string) => Buffer.from(text)],
    ['nothing', () => Buffer.alloc(0)],
  ])('with %s is noticed, and the rows stay until it is exported well', async (_name, corrupt) => {
    const before = await readDayStates(stage.pool);
    const errors = jest.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
    const metrics = new Metrics();
    const storage = bucketWith({ put: async (key, body) => books.bucket.put(key, corrupt(await gathered(body))) });
    expect(await stage.process({ storage, metrics }).archive()).toEqual(['broken']);
    expect(errors).toHaveBeenCalledWith(
      expect.objectContaining({ event: 'ledger_archive_broken', day: before[0]?.day }),
    );
    errors.mockRestore();
    expect(await metrics.registry.getSingleMetricAsString('gateway_ledger_archives_total')).toContain(
      '{result="failed"} 1',
    );
    expect(await readDayStates(stage.pool)).toEqual(before);
    expect(await stage.process().archive()).toEqual(before.map(() => 'archived'));
    expect(await stage.engine.ledger.verify()).toEqual([]);
  });

  it.each([
    ['another amount', (text: string) => text.replace('"amount_micro":1000', '"amount_micro":1001'), 0],
    ['a request less', (text: string) => text.slice(text.indexOf('\n') + 1), 1],
  ])('that was read with %s is noticed, and the rows stay', async (_name, misread, missing) => {
    const before = await readDayStates(stage.pool);
    const repository = new LedgerArchiveRepository(stage.dataSource);
    jest.spyOn(repository, 'readLines').mockImplementation(async function* (...parameters) {
      for await (const { text, count } of stage.repository.readLines(...parameters)) {
        yield { text: misread(text), count: count - missing };
      }
    });
    const errors = jest.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
    expect(await stage.process({ repository }).archive()).toEqual(['broken']);
    errors.mockRestore();
    expect(await readDayStates(stage.pool)).toEqual(before);
    expect(await stage.process().archive()).toEqual(before.map(() => 'archived'));
  });

  it('is not replaced by a process that has lost its claim and finds only a part of the rows', async () => {
    const [{ day } = { day: '' }] = await readDayStates(stage.pool);
    const lines = await linesOf(day);
    const slow = mortal();
    jest.spyOn(slow, 'readLines').mockImplementation(async function* (...parameters) {
      for await (const { text } of stage.repository.readLines(...parameters)) {
        yield { text: text.slice(0, text.indexOf('\n') + 1), count: 1 };
        await stage.pool.query(`UPDATE ledger_archive SET claimed_until = '-infinity' WHERE exported_at IS NULL`);
        expect(await stage.process().archive()).toContain('archived');
      }
    });
    await expect(stage.process({ repository: slow }).archive()).rejects.toThrow(`Another process is exporting ${day}.`);
    expect(gunzipSync((await objectOf(day)) ?? '').toString()).toBe(lines);
  });

  it('that the bucket loses is noticed before the rows are removed', async () => {
    const before = await readDayStates(stage.pool);
    const errors = jest.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
    expect(await stage.process({ storage: bucketWith({ open: async () => null }) }).archive()).toEqual(['broken']);
    errors.mockRestore();
    expect(await readDayStates(stage.pool)).toEqual(before);
  });

  it('is not written for a day whose requests are not those that were closed', async () => {
    const puts = jest.spyOn(books.bucket, 'put');
    const errors = jest.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
    const change = async (by: number) => {
      await stage.pool.query(
        `BEGIN; ALTER TABLE ended_reservation DISABLE TRIGGER USER;
         UPDATE ended_reservation SET amount_micro = amount_micro + ${by}
          WHERE id = (SELECT id FROM ended_reservation ORDER BY id LIMIT 1);
         ALTER TABLE ended_reservation ENABLE TRIGGER USER; COMMIT`,
      );
    };
    await change(1);
    expect(await stage.process().archive()).toEqual(['broken']);
    expect(puts).not.toHaveBeenCalled();
    expect(errors).toHaveBeenCalledWith(
      expect.objectContaining({ event: 'ledger_archive_broken', message: expect.stringContaining('I22 ') }),
    );
    await change(-1);
    expect(await stage.process().archive()).toContain('archived');
  });

  it.each([
    ['a job', 'I8', INSERT_ALONE.job, 'media_job'],
    ['a receipt', 'I16', INSERT_ALONE.receipt, 'usage_record'],
  ])('is not written for a day with %s that none of its requests matches', async (_name, invariant, insert, table) => {
    const [{ day } = { day: '' }] = await readDayStates(stage.pool);
    const puts = jest.spyOn(books.bucket, 'put');
    const errors = jest.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
    const write = (statement: string) =>
      stage.pool.query(`BEGIN; SET LOCAL gateway.counts_receipts = on; ${statement}; COMMIT`);
    await write(insert(day));
    expect(await stage.process().archive()).toEqual(['broken']);
    expect(puts).not.toHaveBeenCalled();
    expect(errors).toHaveBeenCalledWith(
      expect.objectContaining({ event: 'ledger_archive_broken', message: expect.stringContaining(`${invariant} `) }),
    );
    await write(`DELETE FROM ${table} WHERE id = first_id_of('${day}')`);
    expect(await stage.process().archive()).toContain('archived');
  });

  it('that two processes write, because the claim of one has lapsed, is recorded once', async () => {
    const [{ day } = { day: '' }] = await readDayStates(stage.pool);
    const slow = mortal();
    const complete = jest.spyOn(slow, 'complete').mockImplementation(async (...parameters) => {
      await stage.pool.query(`UPDATE ledger_archive SET claimed_until = '-infinity' WHERE exported_at IS NULL`);
      expect(await stage.process().archive()).toContain('archived');
      return LedgerArchiveRepository.prototype.complete.apply(slow, parameters);
    });
    await expect(stage.process({ repository: slow }).archive()).rejects.toThrow(`Another process is exporting ${day}.`);
    expect(complete).toHaveBeenCalledTimes(1);
    expect(await stage.engine.ledger.verify()).toEqual([]);
  });
});
