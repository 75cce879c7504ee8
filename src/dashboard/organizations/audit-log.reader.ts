import type { DataSource } from 'typeorm';
import type { ActorKind } from '../../core/types/actor';
import { decodeCursor } from '../../core/types/cursor';
import { type Aged, toPage, textOfTime, type Page, type PageRequest } from '../../core/types/page';

export interface AuditFilter {
  readonly action?: string;
  readonly actorUserId?: string;
  /** Inclusive. */
  readonly from?: Date;
  /** Exclusive. */
  readonly to?: Date;
}

/** A change, as members of the organization may see it: without the identity of an operator. */
export interface AuditLogEntry {
  readonly id: string;
  readonly actorKind: ActorKind;
  readonly actorUserId: string | null;
  /** `null`: not made by a user, or the account was deleted. */
  readonly actorEmail: string | null;
  readonly address: string | null;
  readonly requestId: string | null;
  readonly action: string;
  readonly targetType: string;
  readonly targetId: string;
  readonly before: Readonly<Record<string, unknown>> | null;
  readonly after: Readonly<Record<string, unknown>> | null;
  readonly createdAt: Date;
}

/** Every filter reads an index in this order from its end, so a `Sort` has few rows at most. */
const FIND = `
  SELECT e.id::text, e.actor_kind AS "actorKind", u.id AS "actorUserId", u.email AS "actorEmail",
         CASE WHEN e.actor_kind = 'user' THEN e.address END AS address,
         CASE WHEN e.actor_kind = 'user' THEN e.request_id END AS "requestId",
         e.action, e.target_type AS "targetType", e.target_id AS "targetId", e.before, e.after,
         e.created_at AS "createdAt", ${textOfTime('e.created_at')} AS "createdAtText"
    FROM audit_entry e
    LEFT JOIN user_account u ON u.id = e.actor_user_id AND e.actor_kind = 'user'
   WHERE e.organization_id = $1
     AND ($2::timestamptz IS NULL OR (e.created_at, e.id) < ($2, $8::bigint))
     AND ($3::text IS NULL OR e.action = $3)
     AND ($4::uuid IS NULL OR (e.actor_user_id = $4 AND e.actor_kind = 'user'))
     AND ($5::timestamptz IS NULL OR e.created_at >= $5)
     AND ($6::timestamptz IS NULL OR e.created_at < $6)
   ORDER BY e.created_at DESC, e.id DESC LIMIT $7`;

/** The audit log of one organization. */
export class AuditLogReader {
  constructor(private readonly dataSource: DataSource) {}

  /** Newest first. @throws GatewayError `validation_failed` for an invalid cursor. */
  async page(
    organizationId: string,
    { action, actorUserId, from, to }: AuditFilter,
    { limit, cursor }: PageRequest,
  ): Promise<Page<AuditLogEntry>> {
    const [time = null, id = null] = cursor === null ? [] : decodeCursor(cursor, ['time', 'integer']);
    const rows = await this.dataSource.query<(AuditLogEntry & Aged)[]>(FIND, [
      organizationId,
      time,
      action ?? null,
      actorUserId ?? null,
      from ?? null,
      to ?? null,
      limit + 1,
      id,
    ]);
    return toPage(rows, limit, (last) => [last.createdAtText, last.id]);
  }
}
