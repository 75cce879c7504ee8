import type { EntityManager } from 'typeorm';
import type { Actor } from '../types/actor';
import { AuditEntryEntity } from './entities/audit-entry.entity';

/** One change as recorded in the audit log. */
export interface AuditRecord {
  /** `null`: the change is not specific to one organization. */
  readonly organizationId: string | null;
  readonly actor: Actor;
  /** `<what>.<done>`, for example `key.created`; the `x-audit` of the operation in the document. */
  readonly action: string;
  readonly target: { readonly type: string; readonly id: string };
  /** Only the changed fields, named as in responses. Never a secret. */
  readonly before?: object;
  readonly after?: object;
}

/** Columns of an entry, for a statement that writes entry and change together. `auditValues` has the values. */
export const AUDIT_COLUMNS =
  'organization_id, actor_kind, actor_user_id, address, request_id, action, target_type, target_id, before, after';

export function auditValues({ organizationId, actor, action, target, before, after }: AuditRecord): unknown[] {
  const { kind, userId, address, requestId } = actor;
  return [organizationId, kind, userId, address, requestId, action, target.type, target.id, before, after];
}

/** Writes the entry in the transaction of the change, so both commit together. */
export async function recordAudit(manager: EntityManager, record: AuditRecord): Promise<void> {
  const { organizationId, actor, action, target, before, after } = record;
  await manager.insert(AuditEntryEntity, {
    organizationId,
    actorKind: actor.kind,
    actorUserId: actor.userId,
    address: actor.address,
    requestId: actor.requestId,
    action,
    targetType: target.type,
    targetId: target.id,
    before: before ?? null,
    after: after ?? null,
  });
}
