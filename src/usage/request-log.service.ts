import { Injectable } from '@nestjs/common';
import { compilePrice } from '../billing/price';
import { decodeCursor, encodeCursor } from '../common/cursor';
import { GatewayError } from '../common/errors/gateway-error';
import { requireUuid } from '../common/require-uuid';
import { hoursWith, type Stretch, toStretches } from './busy-stretches';
import { type ChargeLine, explainCharge } from './explain-charge';
import { RequestLogRepository, type RequestPosition } from './request-log.repository';
import type { ChargedPrice, RequestDetails, RequestFilter, RequestSummary } from './usage.types';
import { UsageTotalsRepository } from './usage-totals.repository';

export interface RequestPage {
  readonly requests: readonly RequestSummary[];
  /** `null`: there are no more. */
  readonly nextCursor: string | null;
}

/** A request and how its charge came about. */
export interface Receipt {
  readonly request: RequestDetails;
  /** The version that it was charged by; `null`: it came to nothing before a price was chosen. */
  readonly price: ChargedPrice | null;
  /** Their sum is the charge. */
  readonly lines: readonly ChargeLine[];
}

const REQUEST_ID = /^req_([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})$/;
const NO_SUCH_REQUEST = 'There is no such request.';
/** Stands for "no end": later than anything that can be asked for (`QueryTime`). */
const END_OF_TIME_MS = Date.UTC(2200, 0, 1);
/** How much further a search goes each time that it has not found enough. */
const WIDER = 4;

/** The log of requests: lists, receipts and exports, newest first. */
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

  /** All requests, some at a time: nothing is held between two pages, neither rows nor a connection. */
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
   * @param name `req_…` as clients have it, or the UUID.
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

  /**
   * A filter may leave one request in a thousand: what is read is only the minutes that have any, which the totals know.
   * They are asked for no more hours than the page needs; where a key and a model are named, some have less than they say.
   */
  private async search(
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
  // The microseconds of a position are lost here; the query itself looks at them.
  const afterMs = after === null ? END_OF_TIME_MS : Date.parse(after.createdAt) + 1;
  return { startsAtMs: from?.getTime() ?? 0, endsAtMs: Math.min(endsAtMs, afterMs) };
}

function clip(stretches: readonly Stretch[], { startsAtMs, endsAtMs }: Stretch): Stretch[] {
  return stretches
    .map((stretch) => ({
      startsAtMs: Math.max(stretch.startsAtMs, startsAtMs),
      endsAtMs: Math.min(stretch.endsAtMs, endsAtMs),
    }))
    .filter((stretch) => stretch.startsAtMs < stretch.endsAtMs);
}
