/** Reads the lines of an archived ledger day back; their sums must equal those of `ledger_sums`. */
import { createHash, hash, type Hash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { StringDecoder } from 'node:string_decoder';
import { createGunzip } from 'node:zlib';
import type { Micro } from '../../core/types/micro';

/** One ended reservation. Times are ISO 8601 in UTC with microseconds. */
interface ArchivedReservation {
  readonly id: string;
  readonly organization_id: string;
  readonly key_id: string;
  readonly state: string;
  readonly amount_micro: number;
  readonly charged_micro: number | null;
  readonly uncollected_micro: number;
  readonly entry_id: number | null;
  readonly balance_after_micro: number | null;
  readonly created_at: string;
  readonly ended_at: string;
  readonly is_job: boolean;
}

/** The sums of a day, or of one organization on that day. */
export interface DaySums {
  readonly reservationCount: bigint;
  readonly chargeCount: bigint;
  readonly chargedMicro: Micro;
  readonly uncollectedMicro: Micro;
  readonly checksum: bigint;
}

export interface ArchivedDay {
  /** By organization. */
  readonly sums: ReadonlyMap<string, DaySums>;
  /** The highest id of a ledger entry among the requests; 0: there is none. */
  readonly lastEntryId: number;
  /** SHA-256 of the lines. */
  readonly contentDigest: Buffer;
}

const NOTHING: DaySums = {
  reservationCount: 0n,
  chargeCount: 0n,
  chargedMicro: 0n,
  uncollectedMicro: 0n,
  checksum: 0n,
};
/** PostgreSQL's epoch, 2000-01-01, in Unix milliseconds. */
const EPOCH_MS = 946_684_800_000;

/** The object is not the archive of its day; the message says why. */
export class ArchiveMismatchError extends Error {
  override readonly name = 'ArchiveMismatchError';
}

/** The content that the object of a day must have. */
export interface ExpectedDay {
  readonly contentDigest: Buffer;
  /** By organization. */
  readonly closings: ReadonlyMap<string, DaySums>;
}

/**
 * Reads a compressed object to its end, in constant memory, and compares it with the expected content.
 * @param object `null`: the object does not exist
 * @throws ArchiveMismatchError, or the error of the transfer
 */
export async function verifyArchivedDay(object: Readable | null, expected: ExpectedDay): Promise<ArchivedDay> {
  if (object === null) throw new ArchiveMismatchError('the object does not exist');
  const day = await readArchivedDay(object);
  if (!day.contentDigest.equals(expected.contentDigest)) {
    throw new ArchiveMismatchError('the lines are not those that were written');
  }
  const { closings } = expected;
  const organizations = [...new Set([...day.sums.keys(), ...closings.keys()])];
  const differing = organizations.find((each) => !isSame(day.sums.get(each), closings.get(each)));
  if (differing !== undefined) throw new ArchiveMismatchError(`the sums of ${differing} differ from the closing`);
  return day;
}

async function readArchivedDay(object: Readable): Promise<ArchivedDay> {
  const reader = new DayReader();
  try {
    await pipeline(object, createGunzip(), async (content: AsyncIterable<Buffer>) => {
      for await (const chunk of content) reader.add(chunk);
    });
  } catch (error) {
    // Errors of zlib, such as Z_BUF_ERROR for a truncated object.
    if (!String((error as NodeJS.ErrnoException).code).startsWith('Z_')) throw error;
    throw new ArchiveMismatchError(`the object cannot be decompressed: ${(error as Error).message}`);
  }
  return reader.end();
}

export function totalOf(sums: Iterable<DaySums>): DaySums {
  return [...sums].reduce(add, NOTHING);
}

class DayReader {
  private readonly sums = new Map<string, DaySums>();
  private readonly contentHash: Hash = createHash('sha256');
  private readonly decoder = new StringDecoder('utf8');
  private rest = '';
  private lastEntryId = 0;

  add(chunk: Buffer): void {
    this.contentHash.update(chunk);
    const lines = (this.rest + this.decoder.write(chunk)).split('\n');
    this.rest = lines.pop() ?? '';
    for (const line of lines) this.addLine(line);
  }

  end(): ArchivedDay {
    if (this.rest !== '') throw new ArchiveMismatchError('the last line is incomplete');
    return { sums: this.sums, lastEntryId: this.lastEntryId, contentDigest: this.contentHash.digest() };
  }

  private addLine(line: string): void {
    const row = toReservation(line);
    this.sums.set(row.organization_id, add(this.sums.get(row.organization_id) ?? NOTHING, sumsOf(row)));
    this.lastEntryId = Math.max(this.lastEntryId, row.entry_id ?? 0);
  }
}

function toReservation(line: string): ArchivedReservation {
  try {
    return JSON.parse(line) as ArchivedReservation;
  } catch {
    throw new ArchiveMismatchError('a line is not JSON');
  }
}

function sumsOf(row: ArchivedReservation): DaySums {
  try {
    return {
      reservationCount: 1n,
      chargeCount: row.entry_id === null ? 0n : 1n,
      chargedMicro: BigInt(row.charged_micro ?? 0),
      uncollectedMicro: BigInt(row.uncollected_micro),
      checksum: checksumOf(row),
    };
  } catch (error) {
    throw new ArchiveMismatchError(`a line is not a reservation: ${(error as Error).message}`);
  }
}

function add(one: DaySums, other: DaySums): DaySums {
  return {
    reservationCount: one.reservationCount + other.reservationCount,
    chargeCount: one.chargeCount + other.chargeCount,
    chargedMicro: one.chargedMicro + other.chargedMicro,
    uncollectedMicro: one.uncollectedMicro + other.uncollectedMicro,
    checksum: one.checksum + other.checksum,
  };
}

function isSame(one: DaySums | undefined, other: DaySums | undefined): boolean {
  if (one === undefined || other === undefined) return false;
  return (Object.keys(NOTHING) as (keyof DaySums)[]).every((name) => one[name] === other[name]);
}

/**
 * The first 64 bits of SHA-256 over the columns in PostgreSQL's binary format (migrations/functions/ledger_sums.sql).
 */
function checksumOf(row: ArchivedReservation): bigint {
  const state = Buffer.from(row.state);
  const bytes = Buffer.alloc(16 * 3 + state.length + 8 * 7 + 1);
  let at = 0;
  for (const id of [row.id, row.organization_id, row.key_id]) {
    at += bytes.write(id.replaceAll('-', ''), at, 'hex');
  }
  at += state.copy(bytes, at);
  for (const amount of [row.amount_micro, row.charged_micro ?? -1, row.uncollected_micro]) {
    at = bytes.writeBigInt64BE(BigInt(amount), at);
  }
  for (const value of [row.entry_id ?? -1, row.balance_after_micro ?? -1])
    at = bytes.writeBigInt64BE(BigInt(value), at);
  for (const time of [row.created_at, row.ended_at]) at = bytes.writeBigInt64BE(microsecondsOf(time), at);
  bytes.writeUInt8(row.is_job ? 1 : 0, at);
  return hash('sha256', bytes, 'buffer').readBigInt64BE(0);
}

/** Microseconds since 2000-01-01, as PostgreSQL stores a time. */
function microsecondsOf(time: string): bigint {
  const wholeMs = Date.parse(`${time.slice(0, 23)}Z`);
  return BigInt((wholeMs - EPOCH_MS) * 1_000 + Number(time.slice(23, 26)));
}
