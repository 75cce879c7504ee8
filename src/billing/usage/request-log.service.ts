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

/** The result of a search. `pausedAt`: where the search stopped, so requests from there on are unread. */
interface Found {
  readonly found: readonly RequestSummary[];
  readonly pausedAt: RequestPosition | null;
}

interface SearchedPart {
  readonly found: readonly RequestSummary[];
  /** Estimated number of requests. */
  readonly read: number;
  readonly pausedAtMs: number | null;
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
/** Maximum number of requests that one page reads, in whole minutes, when a filter may match none of them. */
const MOST_READ = 50_000;
/** Hours with more requests are split into minutes. */
const MANY_REQUESTS = 2_000;
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
    const { found, pausedAt } = await this.read(organizationId, filter, after, limit + 1);
    const requests = found.slice(0, limit);
    const next = found.length > limit ? (requests.at(-1) ?? null) : pausedAt;
    return { requests, nextCursor: next === null ? null : encodeCursor([next.createdAt, next.id]) };
  }

  /** All requests, page by page; a page may be empty. No rows or connection are held between two pages. */
  async *pages(organizationId: string, filter: RequestFilter, size: number): AsyncGenerator<readonly RequestSummary[]> {
    let after: RequestPosition | null = null;
    do {
      const { found, pausedAt }: Found = await this.read(organizationId, filter, after, size);
      yield found;
      after = found.length < size ? pausedAt : (found.at(-1) ?? null);
    } while (after !== null);
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
  ): Promise<Found> {
    const bounds = boundsOf(filter, after);
    if (bounds.startsAtMs >= bounds.endsAtMs) return { found: [], pausedAt: null };
    return this.search(organizationId, filter, after, limit, bounds);
  }

  /** Searches backwards from the last request in growing windows, so that older history is read only when needed. */
  private async search(
    organizationId: string,
    filter: RequestFilter,
    after: RequestPosition | null,
    limit: number,
    bounds: Stretch,
  ): Promise<Found> {
    const period = await this.totals.findPeriod(organizationId);
    const found: RequestSummary[] = [];
    const [whole] = period === null ? [] : clip([period], bounds);
    let budget = isByRow(filter) ? MOST_READ : Number.POSITIVE_INFINITY;
    for (const window of whole === undefined ? [] : windowsOf(whole)) {
      const part = await this.searchWindow(organizationId, filter, after, limit - found.length, window, budget);
      found.push(...part.found);
      budget -= part.read;
      if (found.length >= limit) break;
      if (part.pausedAtMs !== null) return { found, pausedAt: positionAt(part.pausedAtMs) };
    }
    return { found, pausedAt: null };
  }

  /**
   * A filter may match one request in a thousand, so only the minutes with matching requests are read, as the totals
   * show them, and no more than the page needs. If the filter names a key and a model, some minutes have fewer matches
   * than the totals show. Pauses when `budget` requests have been read.
   */
  private async searchWindow(
    organizationId: string,
    filter: RequestFilter,
    after: RequestPosition | null,
    limit: number,
    bounds: Stretch,
    budget: number,
  ): Promise<SearchedPart> {
    if (isOnlyTime(filter)) {
      const found = await this.requests.list(organizationId, [bounds], filter, after, limit);
      return { found, read: found.length, pausedAtMs: null };
    }
    let hours = await this.hoursToRead(organizationId, filter, bounds);
    const found: RequestSummary[] = [];
    let read = 0;
    for (let wanted = limit; hours.length > 0 && found.length < limit; wanted *= WIDER) {
      const next = hoursWith(Math.min(wanted, budget - read), hours);
      hours = hours.slice(next.length);
      const stretches = clip(toStretches(next), bounds);
      const earliest = stretches.at(-1);
      if (earliest === undefined) continue;
      found.push(...(await this.requests.list(organizationId, stretches, filter, after, limit - found.length)));
      read += next.reduce((sum, { requests }) => sum + requests, 0);
      if (read >= budget) return { found, read, pausedAtMs: earliest.startsAtMs };
    }
    return { found, read, pausedAtMs: null };
  }

  /**
   * Latest first. The totals do not show matches of a filter that applies to rows: its hours state the number of
   * requests to read instead of matches, and busy hours are split.
   */
  private async hoursToRead(
    organizationId: string,
    filter: RequestFilter,
    { startsAtMs, endsAtMs }: Stretch,
  ): Promise<readonly BusyHour[]> {
    const period = { from: new Date(startsAtMs), to: new Date(endsAtMs) };
    const hours = await this.totals.findBusyHours(organizationId, { ...filter, ...period });
    if (!isByRow(filter)) return hours;
    const all = new Map(
      (await this.totals.findBusyHours(organizationId, period)).map((hour) => [hour.startsAtMs, hour]),
    );
    return hours.flatMap((hour) => byMinute(hour, all.get(hour.startsAtMs) ?? hour));
  }
}

function toPosition([createdAt, id]: readonly string[]): RequestPosition {
  return { createdAt: createdAt as string, id: id as string };
}

/** The position before all requests that ended at this time and after all earlier ones. */
function positionAt(ms: number): RequestPosition {
  return { createdAt: new Date(ms).toISOString(), id: '00000000-0000-0000-0000-000000000000' };
}

/** Whether the filter needs the rows, because the totals do not show its matches. */
function isByRow({ provider, minCostMicro, minTotalMs }: RequestFilter): boolean {
  return provider !== undefined || minCostMicro !== undefined || minTotalMs !== undefined;
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
    for (const minute of minutesIn(minutes)) {
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

/**
 * The minutes of `hour` with the number of requests to read in each, latest first, when they are many.
 * @param all the same hour with the requests that the filter leaves out.
 */
export function byMinute({ startsAtMs, minutes }: BusyHour, all: BusyHour): BusyHour[] {
  const perMinute = Math.ceil(all.requests / minutesIn(all.minutes).length);
  const busy = minutesIn(minutes);
  const requests = perMinute * busy.length;
  if (requests <= MANY_REQUESTS) return [{ startsAtMs, minutes, requests }];
  return busy.map((minute) => ({ startsAtMs, minutes: 1n << BigInt(minute), requests: perMinute }));
}

/** Latest first. */
function minutesIn(bits: bigint): number[] {
  const minutes: number[] = [];
  for (let minute = MINUTES_OF_HOUR - 1; minute >= 0; minute--) {
    if (((bits >> BigInt(minute)) & 1n) !== 0n) minutes.push(minute);
  }
  return minutes;
}
