import { Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import pLimit from 'p-limit';
import { systemClock } from '../core/time/clock';
import { limitStall } from '../inference/stalled-reader';

export interface CsvFile<Row> {
  readonly name: string;
  /** With its line end, as all lines. */
  readonly header: string;
  readonly pages: AsyncGenerator<readonly Row[]>;
  toLine(row: Row): string;
}

/** Formatted in one go; blocks the event loop for a few milliseconds. */
const ROWS_AT_ONCE = 250;
const MAX_REST_MS = 20;
/** Disconnects a client that stops reading, which would keep a page in memory. */
const STALL_MS = 60_000;

const logger = new Logger('Exports');

/** Serializes the exports of this process, so that a hundred of them load it no more than one. */
const runAlone = pLimit(1);

/**
 * Streams rows with back-pressure. A failure before the first byte is an ordinary error response; a later one resets the
 * connection, so that a truncated export cannot pass for a complete one.
 */
export async function sendCsv<Row>(reply: FastifyReply, file: CsvFile<Row>, stallMs = STALL_MS): Promise<void> {
  const first = await runExclusive(() => file.pages.next());
  reply
    .header('content-type', 'text/csv; charset=utf-8')
    .header('content-disposition', `attachment; filename="${file.name}"`);
  // Without a reader, the whole stream would be produced for nothing.
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
    for (let page = first; page.done !== true; page = await runExclusive(() => pages.next())) {
      for (let from = 0; from < page.value.length; from += ROWS_AT_ONCE) {
        const rows = page.value.slice(from, from + ROWS_AT_ONCE);
        yield await runExclusive(() => rows.map(toLine).join(''));
      }
    }
  } catch (error) {
    // The client only sees the connection end.
    logger.warn({ event: 'export_aborted', message: 'a CSV export was aborted', err: error });
    throw error;
  } finally {
    await pages.return(undefined);
  }
}

/** Then pauses for as long as the work took: exports use at most half of a process. */
function runExclusive<Result>(work: () => Result | Promise<Result>): Promise<Result> {
  return runAlone(async () => {
    const beganMs = systemClock.monotonic();
    const result = await work();
    await pause(Math.min(systemClock.monotonic() - beganMs, MAX_REST_MS));
    return result;
  });
}
