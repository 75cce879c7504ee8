import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { CLOCK, type Clock } from '../../core/time/clock';
import { decodeCursor } from '../../core/types/cursor';
import type { Micro } from '../../core/types/micro';
import { textOfTime, toPage, type Page, type PageRequest } from '../../core/types/page';
import { ApiKeyEntity } from '../../core/database/entities/api-key.entity';
import { toApiKeyRecord, type ApiKeyKind, type ApiKeyRecord, type ApiKeyStatus } from './api-key-record';
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

/** Each subquery probes the primary key, the last one from its end. Admitted requests create the budget windows. */
const FIND_USE = `
  SELECT k.id, k.created_by, u.email AS creator_email,
         COALESCE(day.spent_micro, 0)::text AS day_spent, COALESCE(day.reserved_micro, 0)::text AS day_held,
         COALESCE(month.spent_micro, 0)::text AS month_spent, COALESCE(month.reserved_micro, 0)::text AS month_held,
         (SELECT max(w.window_start)::text FROM spend_window w
           WHERE w.organization_id = k.organization_id AND w.scope = 2 AND w.scope_id = k.id) AS last_used_on
    FROM api_key k
    LEFT JOIN organization_member m ON m.organization_id = k.organization_id AND m.user_id = k.created_by
    LEFT JOIN user_account u ON u.id = m.user_id
    LEFT JOIN spend_window day ON day.organization_id = k.organization_id AND day.scope = 2 AND day.scope_id = k.id
          AND day.window_start = (now() AT TIME ZONE 'UTC')::date
    LEFT JOIN spend_window month ON month.organization_id = k.organization_id AND month.scope = 3 AND month.scope_id = k.id
          AND month.window_start = date_trunc('month', now() AT TIME ZONE 'UTC')::date
   WHERE k.id = ANY ($1::uuid[])`;

/** The states of `toApiKeyRecord` in SQL; `:now` is the clock used for the record. */
const NOT_REVOKED = '(key.revoked_at IS NULL OR key.revoked_at > :now)';
const STATUS_CONDITIONS: Readonly<Record<ApiKeyStatus, string>> = {
  revoked: 'key.revoked_at <= :now',
  disabled: `${NOT_REVOKED} AND NOT key.enabled`,
  expired: `${NOT_REVOKED} AND key.enabled AND key.expires_at <= :now`,
  active: `${NOT_REVOKED} AND key.enabled AND (key.expires_at IS NULL OR key.expires_at > :now)`,
};

/** Keys as the dashboard shows them, with their usage. */
@Injectable()
export class ApiKeyReader {
  constructor(
    private readonly dataSource: DataSource,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /**
   * Keys of one kind, newest first.
   * @throws GatewayError `validation_failed` for an invalid cursor.
   */
  async page(
    organizationId: string,
    { kind, status }: { readonly kind: ApiKeyKind; readonly status: ApiKeyStatus | null },
    { limit, cursor }: PageRequest,
  ): Promise<Page<ApiKeyInUse>> {
    const query = this.dataSource
      .getRepository(ApiKeyEntity)
      .createQueryBuilder('key')
      .addSelect(textOfTime('key.created_at'), 'created_at_text')
      .where('key.organization_id = :organizationId', { organizationId })
      .andWhere(`key.playground_user_id IS ${kind === 'standard' ? '' : 'NOT '}NULL`);
    if (status !== null) query.andWhere(STATUS_CONDITIONS[status], { now: new Date(this.clock.now()) });
    if (cursor !== null) {
      const [after, id] = decodeCursor(cursor, ['time', 'uuid']);
      query.andWhere('(key.created_at, key.id) < (CAST(:after AS timestamptz), CAST(:id AS uuid))', { after, id });
    }
    // Scans `api_key_organization_id_index` backwards.
    const { entities, raw } = await query
      .orderBy('key.created_at', 'DESC')
      .addOrderBy('key.id', 'DESC')
      .limit(limit + 1)
      .getRawAndEntities<{ created_at_text: string }>();
    const rows = entities.map((apiKey, index) => ({ apiKey, createdAtText: raw[index]?.created_at_text ?? '' }));
    const page = toPage(rows, limit, ({ apiKey, createdAtText }) => [createdAtText, apiKey.id]);
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
