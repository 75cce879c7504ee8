import type { EntityManager } from 'typeorm';
import type { Actor } from '../common/actor';
import { AuditEntryEntity } from '../database/entities/audit-entry.entity';

/** One change as the audit log tells it. */
export interface AuditRecord {
  /** `null`: it concerns no single organization. */
  readonly organizationId: string | null;
  readonly actor: Actor;
  /** `<what>.<done>`, for example `key.created`; the `x-audit` of the operation in the document. */
  readonly action: string;
  readonly target: { readonly type: string; readonly id: string };
  /** What has changed, and only that, named as in replies. Never a secret. */
  readonly before?: object;
  readonly after?: object;
}

/** Writes the entry in the transaction of the change: neither is there without the other. */
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
