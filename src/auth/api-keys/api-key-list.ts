import type { Repository, SelectQueryBuilder } from 'typeorm';
import { decodeCursor } from '../../core/types/cursor';
import { textOfTime } from '../../core/types/page';
import type { ApiKeyEntity } from '../../core/database/entities/api-key.entity';
import type { ApiKeyKind, ApiKeyStatus } from './api-key-record';

export const API_KEY_ORDERS = ['newest', 'name', 'last_used', 'month_spent'] as const;
export type ApiKeyOrder = (typeof API_KEY_ORDERS)[number];

export interface ApiKeyFilter {
  /** Default: `standard`. */
  readonly kind?: ApiKeyKind;
  readonly status?: ApiKeyStatus;
  readonly revoked?: boolean;
  /** Part of the name, the beginning of the ID or of the shown ends, or the last characters; case-insensitive. */
  readonly search?: string;
  /** Default: `newest`. */
  readonly order?: ApiKeyOrder;
}

/** Columns beside those of the key, for the cursor. */
export interface SortColumns {
  readonly created_at_text: string;
  readonly rank?: string | number;
}

type KeyQuery = SelectQueryBuilder<ApiKeyEntity>;

/** The states of `toApiKeyRecord` in SQL; `:now` is the clock used for the record. */
const REVOKED = 'key.revoked_at <= :now';
const NOT_REVOKED = '(key.revoked_at IS NULL OR key.revoked_at > :now)';
const STATUS_CONDITIONS: Readonly<Record<ApiKeyStatus, string>> = {
  revoked: REVOKED,
  disabled: `${NOT_REVOKED} AND NOT key.enabled`,
  expired: `${NOT_REVOKED} AND key.enabled AND key.expires_at <= :now`,
  active: `${NOT_REVOKED} AND key.enabled AND (key.expires_at IS NULL OR key.expires_at > :now)`,
};

/** Shorter beginnings match too many: every key begins with `sk-llm-`, and IDs begin with their time. */
const SHORTEST_BEGINNING = 8;

/** Functions without patterns, so that no character of the text is a wildcard. */
const MATCHES = 'position(lower(:search) IN lower(key.name)) > 0 OR lower(key.last4) = lower(:search)';
const BEGINS = `starts_with(CAST(key.id AS text), lower(:search))
  OR starts_with(lower(key.prefix || '…' || key.last4), lower(:search))`;

const OLDER = '(key.created_at, key.id) < (CAST(:after AS timestamptz), CAST(:id AS uuid))';

/** The day (UTC) on which a key was last used; NULL: never. Probes the primary key from its end. */
export const LAST_USED_ON = `(SELECT max(w.window_start) FROM spend_window w
      WHERE w.organization_id = key.organization_id AND w.scope = 2 AND w.scope_id = key.id)`;

/** Numbers by which keys are sorted, highest first. Each subquery probes the primary key. */
const RANKS = {
  /** In days, because a cursor holds integers. 0: never. */
  last_used: `COALESCE(${LAST_USED_ON} - DATE '1970-01-01', 0)`,
  month_spent: `COALESCE((SELECT w.spent_micro FROM spend_window w
      WHERE w.organization_id = key.organization_id AND w.scope = 3 AND w.scope_id = key.id
        AND w.window_start = CAST(date_trunc('month', now() AT TIME ZONE 'UTC') AS date)), 0)`,
};

/**
 * The keys of an organization, from the key after the cursor. By age, the query scans `api_key_organization_id_index`
 * backwards until the page is full; other orders sort all keys of the organization that match, thousands at most.
 * @throws GatewayError `validation_failed` for an invalid cursor.
 */
export function listKeys(
  keys: Repository<ApiKeyEntity>,
  organizationId: string,
  { order = 'newest', ...filter }: ApiKeyFilter,
  cursor: string | null,
  now: Date,
): KeyQuery {
  const query = keys
    .createQueryBuilder('key')
    .addSelect(textOfTime('key.created_at'), 'created_at_text')
    .where('key.organization_id = :organizationId', { organizationId });
  filterKeys(query, filter, now);
  if (order === 'name') return sortByName(query, cursor);
  if (order !== 'newest') return sortByRank(query, RANKS[order], cursor);
  if (cursor !== null) {
    const [after, id] = decodeCursor(cursor, ['time', 'uuid']);
    query.andWhere(OLDER, { after, id });
  }
  return newestFirst(query);
}

function filterKeys(query: KeyQuery, { kind, status, revoked, search }: ApiKeyFilter, now: Date): void {
  query.andWhere(`key.playground_user_id IS ${kind === 'playground' ? 'NOT ' : ''}NULL`);
  if (status !== undefined) query.andWhere(STATUS_CONDITIONS[status], { now });
  if (revoked !== undefined) query.andWhere(revoked ? REVOKED : NOT_REVOKED, { now });
  if (search === undefined) return;
  query.andWhere(search.length < SHORTEST_BEGINNING ? `(${MATCHES})` : `(${MATCHES} OR ${BEGINS})`, { search });
}

/** The cursor names the last key, because it cannot hold a name of 200 characters. */
function sortByName(query: KeyQuery, cursor: string | null): KeyQuery {
  if (cursor !== null) {
    const [id] = decodeCursor(cursor, ['uuid']);
    const last = `SELECT lower(l.name), l.id FROM api_key l
      WHERE l.id = CAST(:id AS uuid) AND l.organization_id = :organizationId`;
    query.andWhere(`(lower(key.name), key.id) > (${last})`, { id });
  }
  return query.orderBy('lower(key.name)').addOrderBy('key.id');
}

function sortByRank(query: KeyQuery, rank: string, cursor: string | null): KeyQuery {
  if (cursor !== null) {
    const [last, after, id] = decodeCursor(cursor, ['integer', 'time', 'uuid']);
    const isAfter = `${rank} < CAST(:last AS bigint) OR ${rank} = CAST(:last AS bigint) AND ${OLDER}`;
    query.andWhere(`(${isAfter})`, { last, after, id });
  }
  return newestFirst(query.addSelect(rank, 'rank').orderBy('rank', 'DESC'));
}

function newestFirst(query: KeyQuery): KeyQuery {
  return query.addOrderBy('key.created_at', 'DESC').addOrderBy('key.id', 'DESC');
}

/** The parts of the cursor that {@link listKeys} reads. */
export function sortKeyOf({ order }: ApiKeyFilter, id: string, columns: SortColumns): readonly (string | number)[] {
  if (order === 'name') return [id];
  const age = [columns.created_at_text, id];
  return columns.rank === undefined ? age : [columns.rank, ...age];
}
