import { Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { systemClock } from '../common/clock';
import { Semaphore } from '../common/semaphore';
import { limitStall } from '../inference/stalled-reader';

export interface CsvFile<Row> {
  readonly name: string;
  /** With its line end, as all lines. */
  readonly header: string;
  readonly pages: AsyncGenerator<readonly Row[]>;
  toLine(row: Row): string;
}

/** Written at once: a few milliseconds in which nothing else happens in this process. */
const ROWS_AT_ONCE = 250;
const MAX_REST_MS = 20;
/** A client that takes nothing for so long would keep a page in memory for ever. */
const STALL_MS = 60_000;

const logger = new Logger('Exports');

/** All exports of this process take turns, so that a hundred of them are no more of a burden to requests than one. */
const turns = new Semaphore(1);

/**
 * Sends rows as they are read, no faster than the client takes them. What fails before the first byte is an answer like any
 * other; later the connection is reset, so that half an export cannot pass for a whole one.
 */
export async function sendCsv<Row>(reply: FastifyReply, file: CsvFile<Row>, stallMs = STALL_MS): Promise<void> {
  const first = await inTurn(() => file.pages.next());
  reply
    .header('content-type', 'text/csv; charset=utf-8')
    .header('content-disposition', `attachment; filename="${file.name}"`);
  // A stream that nobody is going to read would be made to its end.
  if (reply.request.method === 'HEAD') return void reply.send();
  limitStall(reply.raw, stallMs);
  reply.send(Readable.from(toText(file, first), { objectMode: false }));
}

async function* toText<Row>(
  { header, pages, toLine }: CsvFile<Row>,
  first: IteratorResult<readonly Row[]>,
): AsyncGenerator<string> {
  try {
    yield header;
    for (let page = first; page.done !== true; page = await inTurn(() => pages.next())) {
      for (let from = 0; from < page.value.length; from += ROWS_AT_ONCE) {
        const rows = page.value.slice(from, from + ROWS_AT_ONCE);
        yield await inTurn(() => rows.map(toLine).join(''));
      }
    }
  } catch (error) {
    // Whoever reads sees the connection end, and nobody else would see anything.
    logger.warn(`An export broke off: ${String(error)}`);
    throw error;
  } finally {
    await pages.return(undefined);
  }
}

/** Then rests for as long as it took: at most half of a process makes files. */
function inTurn<Result>(work: () => Result | Promise<Result>): Promise<Result> {
  return turns.run(async () => {
    const beganMs = systemClock.monotonic();
    const result = await work();
    await pause(Math.min(systemClock.monotonic() - beganMs, MAX_REST_MS));
    return result;
  });
}
