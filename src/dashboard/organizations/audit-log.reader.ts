import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
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

/** A change. */
export interface AuditLogEntry {
  readonly id: string;
  readonly organizationId: string | null;
  readonly actorKind: ActorKind;
  /** `null` for members if the actor is platform staff, like the address and the request. */
  readonly actorUserId: string | null;
  /** `null`: no user made the change, or the account was deleted. */
  readonly actorEmail: string | null;
  readonly actorName: string | null;
  readonly address: string | null;
  readonly requestId: string | null;
  readonly action: string;
  readonly targetType: string;
  readonly targetId: string;
  readonly before: Readonly<Record<string, unknown>> | null;
  readonly after: Readonly<Record<string, unknown>> | null;
  readonly createdAt: Date;
}

/**
 * Every filter reads an index from its end in this order, so that at most a few rows need sorting. The organization is
 * part of the order because PostgreSQL does not treat a column that `IS NULL` as a constant.
 */
function findSql(whose: string, isActorShown: string): string {
  return `
  SELECT e.id::text, e.organization_id AS "organizationId", e.actor_kind AS "actorKind", u.id AS "actorUserId",
         u.email AS "actorEmail", u.name AS "actorName", CASE WHEN ${isActorShown} THEN e.address END AS address,
         CASE WHEN ${isActorShown} THEN e.request_id END AS "requestId",
         e.action, e.target_type AS "targetType", e.target_id AS "targetId", e.before, e.after,
         e.created_at AS "createdAt", ${textOfTime('e.created_at')} AS "createdAtText"
    FROM audit_entry e
    LEFT JOIN user_account u ON u.id = e.actor_user_id AND ${isActorShown}
   WHERE ${whose}
     AND ($2::timestamptz IS NULL OR (e.created_at, e.id) < ($2, $8::bigint))
     AND ($3::text IS NULL OR e.action = $3)
     AND ($4::uuid IS NULL OR (e.actor_user_id = $4 AND ${isActorShown}))
     AND ($5::timestamptz IS NULL OR e.created_at >= $5)
     AND ($6::timestamptz IS NULL OR e.created_at < $6)
   ORDER BY e.organization_id DESC, e.created_at DESC, e.id DESC LIMIT $7`;
}

const OF_ORGANIZATION = 'e.organization_id = $1';
const FIND_FOR_MEMBERS = findSql(OF_ORGANIZATION, `e.actor_kind = 'user'`);
const FIND_FOR_STAFF = findSql(OF_ORGANIZATION, 'true');
const FIND_OF_PLATFORM = findSql('e.organization_id IS NULL AND $1::uuid IS NULL', 'true');

/** The audit logs of the organizations and of the platform. */
@Injectable()
export class AuditLogReader {
  constructor(private readonly dataSource: DataSource) {}

  /**
   * The changes to an organization as its members may see them: without the identity of an operator. Newest first.
   * @throws GatewayError `validation_failed` for an invalid cursor.
   */
  page(organizationId: string, filter: AuditFilter, request: PageRequest): Promise<Page<AuditLogEntry>> {
    return this.read(FIND_FOR_MEMBERS, organizationId, filter, request);
  }

  /**
   * As {@link page}, for platform staff: with every actor.
   * @param organizationId `null`: the changes that are not specific to one organization.
   */
  pageForStaff(organizationId: string | null, filter: AuditFilter, request: PageRequest): Promise<Page<AuditLogEntry>> {
    return this.read(organizationId === null ? FIND_OF_PLATFORM : FIND_FOR_STAFF, organizationId, filter, request);
  }

  private async read(
    sql: string,
    organizationId: string | null,
    { action, actorUserId, from, to }: AuditFilter,
    { limit, cursor }: PageRequest,
  ): Promise<Page<AuditLogEntry>> {
    const [time = null, id = null] = cursor === null ? [] : decodeCursor(cursor, ['time', 'integer']);
    const rows = await this.dataSource.query<(AuditLogEntry & Aged)[]>(sql, [
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
