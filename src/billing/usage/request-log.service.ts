import { Injectable } from '@nestjs/common';
import { GatewayError } from '../../core/errors/gateway-error';
import { decodeCursor, encodeCursor } from '../../core/types/cursor';
import { requireUuid } from '../../core/types/require-uuid';
import { compilePrice } from '../pricing/price';
import { type ChargeLine, explainCharge } from './explain-charge';
import { RequestLogRepository, type RequestPosition, type Stretch } from './request-log.repository';
import { type BusyHour, UsageTotalsRepository } from './usage-totals.repository';
import type { ChargedPrice, RequestDetails, RequestFilter, RequestSummary } from './usage.types';

export interface RequestPage {
  readonly requests: readonly RequestSummary[];
  /** `null`: there are no more. */
  readonly nextCursor: string | null;
}

/** A request and the breakdown of its charge. */
export interface Receipt {
  readonly request: RequestDetails;
  /** The price version charged; `null`: the request ended before a price was chosen. */
  readonly price: ChargedPrice | null;
  /** Their sum is the charge. */
  readonly lines: readonly ChargeLine[];
}

const REQUEST_ID = /^req_([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})$/;
const NO_SUCH_REQUEST = 'There is no such request.';
/** Means "no end": later than any time that a query accepts (`QueryTime`). */
const END_OF_TIME_MS = Date.UTC(2200, 0, 1);
/** Growth factor of a search that has not found enough. */
const WIDER = 4;
const HOUR_MS = 3_600_000;
/** The first window of a search: for a busy organization it usually fills a page. */
const FIRST_WINDOW_MS = 6 * HOUR_MS;
/** Growth factor of the windows: five windows cover a year. */
const WINDOW_GROWTH = 8;

/** The request log: lists, receipts and exports, newest first. */
@Injectable()
export class RequestLogService {
  constructor(
    private readonly requests: RequestLogRepository,
    private readonly totals: UsageTotalsRepository,
  ) {}

  /** @throws GatewayError `validation_failed` for a cursor that is not one. */
  async list(
    organizationId: string,
    filter: RequestFilter,
    cursor: string | null,
    limit: number,
  ): Promise<RequestPage> {
    const after = cursor === null ? null : toPosition(decodeCursor(cursor, ['time', 'uuid']));
    const found = await this.read(organizationId, filter, after, limit + 1);
    const requests = found.slice(0, limit);
    const last = requests.at(-1);
    const hasMore = found.length > limit && last !== undefined;
    return { requests, nextCursor: hasMore ? encodeCursor([last.createdAt, last.id]) : null };
  }

  /** All requests, page by page; no rows or connection are held between two pages. */
  async *pages(organizationId: string, filter: RequestFilter, size: number): AsyncGenerator<readonly RequestSummary[]> {
    let after: RequestPosition | null = null;
    for (;;) {
      const page: readonly RequestSummary[] = await this.read(organizationId, filter, after, size);
      if (page.length > 0) yield page;
      if (page.length < size) return;
      after = page.at(-1) as RequestSummary;
    }
  }

  /**
   * @param name `req_…` as clients see it, or the UUID.
   * @throws GatewayError `not_found`
   */
  async receipt(organizationId: string, name: string): Promise<Receipt> {
    const id = requireUuid(name.toLowerCase().replace(REQUEST_ID, '$1-$2-$3-$4-$5'), NO_SUCH_REQUEST);
    const request = await this.requests.find(organizationId, id);
    if (request === null) throw new GatewayError('not_found', NO_SUCH_REQUEST);
    const { priceVersionId } = request;
    const price = priceVersionId === null ? null : await this.requests.findPrice(priceVersionId);
    return { request, price, lines: explainCharge(request, price === null ? null : compilePrice(price.content)) };
  }

  private async read(
    organizationId: string,
    filter: RequestFilter,
    after: RequestPosition | null,
    limit: number,
  ): Promise<RequestSummary[]> {
    const bounds = boundsOf(filter, after);
    if (bounds.startsAtMs >= bounds.endsAtMs) return [];
    if (isOnlyTime(filter)) return this.requests.list(organizationId, [bounds], filter, after, limit);
    return this.search(organizationId, filter, after, limit, bounds);
  }

  /** Searches backwards from the last receipt in growing windows, so that older history is read only when needed. */
  private async search(
    organizationId: string,
    filter: RequestFilter,
    after: RequestPosition | null,
    limit: number,
    bounds: Stretch,
  ): Promise<RequestSummary[]> {
    const period = await this.requests.findPeriod(organizationId);
    const found: RequestSummary[] = [];
    if (period === null) return found;
    const [whole] = clip([period], bounds);
    for (const window of whole === undefined ? [] : windowsOf(whole)) {
      found.push(...(await this.searchWindow(organizationId, filter, after, limit - found.length, window)));
      if (found.length >= limit) break;
    }
    return found;
  }

  /**
   * A filter may match one request in a thousand, so only the minutes with matching requests are read, as the totals show
   * them, and no more than the page needs. If a key and a model are named, some minutes have fewer matches than shown.
   */
  private async searchWindow(
    organizationId: string,
    filter: RequestFilter,
    after: RequestPosition | null,
    limit: number,
    bounds: Stretch,
  ): Promise<RequestSummary[]> {
    const hourOf = { from: new Date(bounds.startsAtMs), to: new Date(bounds.endsAtMs) };
    let hours = await this.totals.findBusyHours(organizationId, { ...filter, ...hourOf });
    const found: RequestSummary[] = [];
    for (let wanted = limit; hours.length > 0 && found.length < limit; wanted *= WIDER) {
      const next = hoursWith(wanted, hours);
      hours = hours.slice(next.length);
      const stretches = clip(toStretches(next), bounds);
      if (stretches.length === 0) continue;
      found.push(...(await this.requests.list(organizationId, stretches, filter, after, limit - found.length)));
    }
    return found;
  }
}

function toPosition([createdAt, id]: readonly string[]): RequestPosition {
  return { createdAt: createdAt as string, id: id as string };
}

function isOnlyTime({ from: _from, to: _to, ...rest }: RequestFilter): boolean {
  return Object.values(rest).every((value) => value === undefined);
}

function boundsOf({ from, to }: RequestFilter, after: RequestPosition | null): Stretch {
  const endsAtMs = to?.getTime() ?? END_OF_TIME_MS;
  // Drops the microseconds of the position; the query compares them.
  const afterMs = after === null ? END_OF_TIME_MS : Date.parse(after.createdAt) + 1;
  return { startsAtMs: from?.getTime() ?? 0, endsAtMs: Math.min(endsAtMs, afterMs) };
}

/** Splits a stretch into windows that begin on the hour, latest first. */
function* windowsOf({ startsAtMs, endsAtMs }: Stretch): Generator<Stretch> {
  let endMs = endsAtMs;
  for (let lengthMs = FIRST_WINDOW_MS; endMs > startsAtMs; lengthMs *= WINDOW_GROWTH) {
    const startMs = Math.max(Math.floor((endMs - lengthMs) / HOUR_MS) * HOUR_MS, startsAtMs);
    yield { startsAtMs: startMs, endsAtMs: endMs };
    endMs = startMs;
  }
}

function clip(stretches: readonly Stretch[], { startsAtMs, endsAtMs }: Stretch): Stretch[] {
  return stretches
    .map((stretch) => ({
      startsAtMs: Math.max(stretch.startsAtMs, startsAtMs),
      endsAtMs: Math.min(stretch.endsAtMs, endsAtMs),
    }))
    .filter((stretch) => stretch.startsAtMs < stretch.endsAtMs);
}

const MINUTE_MS = 60_000;
const MINUTES_OF_HOUR = 60;

/**
 * The minutes with requests, joined into as few stretches as possible.
 * @param hours latest first, like the result.
 */
export function toStretches(hours: readonly BusyHour[]): Stretch[] {
  const stretches: { startsAtMs: number; endsAtMs: number }[] = [];
  for (const { startsAtMs: hourMs, minutes } of hours) {
    for (let minute = MINUTES_OF_HOUR - 1; minute >= 0; minute--) {
      if (((minutes >> BigInt(minute)) & 1n) === 0n) continue;
      const startsAtMs = hourMs + minute * MINUTE_MS;
      const later = stretches.at(-1);
      if (later?.startsAtMs === startsAtMs + MINUTE_MS) later.startsAtMs = startsAtMs;
      else stretches.push({ startsAtMs, endsAtMs: startsAtMs + MINUTE_MS });
    }
  }
  return stretches;
}

/** The shortest prefix of `hours` that may contain this many requests; all hours if there are fewer. */
export function hoursWith(requests: number, hours: readonly BusyHour[]): readonly BusyHour[] {
  let expected = 0;
  const last = hours.findIndex((hour) => (expected += hour.requests) >= requests);
  return last === -1 ? hours : hours.slice(0, last + 1);
}
