import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { CLOCK, type Clock } from '../../core/time/clock';
import type { Micro } from '../../core/types/micro';
import { toPage, type Page, type PageRequest } from '../../core/types/page';
import { ApiKeyEntity } from '../../core/database/entities/api-key.entity';
import { LAST_USED_ON, listKeys, sortKeyOf, type ApiKeyFilter, type SortColumns } from './api-key-list';
import { toApiKeyRecord, type ApiKeyRecord } from './api-key-record';
import { keyNotFound } from './api-key-rows';

/** The budget use of a key in the windows of the database's clock (UTC), as reservations count it. */
export interface ApiKeyUse {
  readonly daySpentMicro: Micro;
  /** The amount held for requests in flight. */
  readonly dayHeldMicro: Micro;
  readonly monthSpentMicro: Micro;
  readonly monthHeldMicro: Micro;
  /** `YYYY-MM-DD`; `null`: the key has never been used. */
  readonly lastUsedOn: string | null;
}

/** The user who created a key. */
export interface ApiKeyCreator {
  readonly userId: string;
  /** `null`: not a member of the organization any more. */
  readonly email: string | null;
}

export interface ApiKeyInUse {
  readonly record: ApiKeyRecord;
  readonly use: ApiKeyUse;
  /** `null`: created by an operator command. */
  readonly creator: ApiKeyCreator | null;
}

type KeyDetails = Omit<ApiKeyInUse, 'record'>;

interface UseRow {
  readonly id: string;
  readonly created_by: string | null;
  readonly creator_email: string | null;
  readonly day_spent: string;
  readonly day_held: string;
  readonly month_spent: string;
  readonly month_held: string;
  readonly last_used_on: string | null;
}

/** Each join and subquery probes a primary key. Admitted requests create the budget windows. */
const FIND_USE = `
  SELECT key.id, key.created_by, u.email AS creator_email,
         COALESCE(day.spent_micro, 0)::text AS day_spent, COALESCE(day.reserved_micro, 0)::text AS day_held,
         COALESCE(month.spent_micro, 0)::text AS month_spent, COALESCE(month.reserved_micro, 0)::text AS month_held,
         ${LAST_USED_ON}::text AS last_used_on
    FROM api_key key
    LEFT JOIN organization_member m ON m.organization_id = key.organization_id AND m.user_id = key.created_by
    LEFT JOIN user_account u ON u.id = m.user_id
    LEFT JOIN spend_window day ON day.organization_id = key.organization_id AND day.scope = 2 AND day.scope_id = key.id
          AND day.window_start = (now() AT TIME ZONE 'UTC')::date
    LEFT JOIN spend_window month ON month.organization_id = key.organization_id AND month.scope = 3 AND month.scope_id = key.id
          AND month.window_start = date_trunc('month', now() AT TIME ZONE 'UTC')::date
   WHERE key.id = ANY ($1::uuid[])`;

/** Keys as the dashboard shows them, with their usage. */
@Injectable()
export class ApiKeyReader {
  constructor(
    private readonly dataSource: DataSource,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** @throws GatewayError `validation_failed` for an invalid cursor. */
  async page(organizationId: string, filter: ApiKeyFilter, { limit, cursor }: PageRequest): Promise<Page<ApiKeyInUse>> {
    const keys = this.dataSource.getRepository(ApiKeyEntity);
    const query = listKeys(keys, organizationId, filter, cursor, new Date(this.clock.now()));
    const { entities, raw } = await query.limit(limit + 1).getRawAndEntities<SortColumns>();
    const rows = entities.map((apiKey, index) => ({ apiKey, columns: raw[index] as SortColumns }));
    const page = toPage(rows, limit, ({ apiKey, columns }) => sortKeyOf(filter, apiKey.id, columns));
    const uses = await this.findUse(page.items.map(({ apiKey }) => apiKey.id));
    return {
      items: page.items.map(({ apiKey }) => this.toKeyInUse(apiKey, uses)),
      nextCursor: page.nextCursor,
    };
  }

  /** @throws GatewayError `not_found`, also for a key of another organization. */
  async require(keyId: string, organizationId: string): Promise<ApiKeyInUse> {
    const apiKey = await this.dataSource.getRepository(ApiKeyEntity).findOneBy({ id: keyId, organizationId });
    if (apiKey === null) throw keyNotFound();
    return this.withUse(apiKey);
  }

  async withUse(apiKey: ApiKeyEntity): Promise<ApiKeyInUse> {
    return this.toKeyInUse(apiKey, await this.findUse([apiKey.id]));
  }

  private toKeyInUse(apiKey: ApiKeyEntity, uses: ReadonlyMap<string, KeyDetails>): ApiKeyInUse {
    const details = uses.get(apiKey.id);
    if (details === undefined) throw new Error(`the use of API key ${apiKey.id} was not read`);
    return { record: toApiKeyRecord(apiKey, this.clock.now()), ...details };
  }

  private async findUse(keyIds: readonly string[]): Promise<ReadonlyMap<string, KeyDetails>> {
    const rows = await this.dataSource.query<UseRow[]>(FIND_USE, [keyIds]);
    return new Map(rows.map((row) => [row.id, toDetails(row)]));
  }
}

function toDetails(row: UseRow): KeyDetails {
  return {
    use: {
      daySpentMicro: BigInt(row.day_spent),
      dayHeldMicro: BigInt(row.day_held),
      monthSpentMicro: BigInt(row.month_spent),
      monthHeldMicro: BigInt(row.month_held),
      lastUsedOn: row.last_used_on,
    },
    creator: row.created_by === null ? null : { userId: row.created_by, email: row.creator_email },
  };
}
