import { Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import pLimit from 'p-limit';
import { Bytes } from '../core/http/answer';
import { systemClock } from '../core/time/clock';
import { BYTE_ORDER_MARK } from '../core/types/csv';

export interface CsvFile<Row> {
  readonly name: string;
  /** With its line end, like every line. */
  readonly header: string;
  readonly pages: AsyncGenerator<readonly Row[]>;
  /** Headers of the response besides the one with the file name. */
  readonly headers?: Readonly<Record<string, string>>;
  toLine(row: Row): string;
}

/** Formatted in one go; blocks the event loop for a few milliseconds. */
const ROWS_AT_ONCE = 250;
const MAX_REST_MS = 20;

const logger = new Logger('Exports');

/** Serializes the exports of this process, so that a hundred exports load it no more than one. */
const runAlone = pLimit(1);

/**
 * A file of rows that is read with back-pressure. A failure before the first byte is an ordinary error response; a
 * later one resets the connection, so that a truncated export cannot pass for a complete one.
 */
export async function toCsvAnswer<Row>(file: CsvFile<Row>, method: string): Promise<Bytes> {
  const first = await runExclusive(() => file.pages.next());
  // Without a reader, the whole stream would be produced for nothing.
  const content = method === 'HEAD' ? null : Readable.from(toText(file, first), { objectMode: false });
  return new Bytes(content, 'text/csv; charset=utf-8', {
    headers: { ...file.headers, 'content-disposition': `attachment; filename="${file.name}"` },
  });
}

async function* toText<Row>(
  { header, pages, toLine }: CsvFile<Row>,
  first: IteratorResult<readonly Row[]>,
): AsyncGenerator<string> {
  try {
    yield BYTE_ORDER_MARK + header;
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

/** Pauses afterwards for as long as the work took, so that exports use at most half of a process. */
function runExclusive<Result>(work: () => Result | Promise<Result>): Promise<Result> {
  return runAlone(async () => {
    const beganMs = systemClock.monotonic();
    const result = await work();
    await pause(Math.min(systemClock.monotonic() - beganMs, MAX_REST_MS));
    return result;
  });
}
