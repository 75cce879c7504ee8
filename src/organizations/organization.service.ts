/**
 * Organizations, their members and their keys: the command line and the dashboard use these services. Authentication
 * (`auth/`) only reads what is written here. Every change is in the audit log, and is committed before it is announced, so
 * that no process can read the old state after having been told of the new one.
 */
import type { DataSource, EntityManager } from 'typeorm';
import { recordAudit } from '../audit/audit-log';
import { publishKeyInvalidation, type KeyInvalidationTransport } from '../auth/key-invalidation';
import { AccountTurns } from '../common/account-turns';
import type { Actor } from '../common/actor';
import type { Clock } from '../common/clock';
import { decodeCursor } from '../common/cursor';
import { GatewayError } from '../common/errors/gateway-error';
import { uuidV7 } from '../common/ids';
import { microToJson, type Micro } from '../common/micro';
import { type RateLimits, toRateLimitFields } from '../common/rate-limits';
import { toPage, type Page, type PageRequest } from '../common/page';
import { OrganizationMemberEntity } from '../database/entities/organization-member.entity';
import { OrganizationEntity, type OrganizationStatus } from '../database/entities/organization.entity';
import { UserAccountEntity } from '../database/entities/user-account.entity';
import { parseAmount, parseName, parseRateLimits } from './api-key-settings';
import { changedFields } from './changed-fields';
import { requireRole } from './member.service';
import { findMonthSpending, openAccount, updateMonthlyLimit } from './organization-account.repository';
import { lockOrganization, organizationNotFound } from './organization-row';
import { findMemberships, type Membership } from './membership.repository';

export const MAX_OWNED_ORGANIZATIONS = 10;

export interface NewOrganization {
  readonly name: string;
  /** Most that may be spent in a calendar month (UTC); `null` or absent: no limit. */
  readonly monthlyLimitMicro?: Micro | null;
  readonly limits?: Partial<RateLimits>;
}

export class OrganizationService {
  /** Of owners. */
  private readonly turns: AccountTurns;

  constructor(
    private readonly dataSource: DataSource,
    private readonly transport: KeyInvalidationTransport,
    private readonly clock: Clock,
  ) {
    this.turns = new AccountTurns(clock);
  }

  /**
   * An active organization with an empty account and no members.
   * @throws GatewayError `validation_failed`.
   */
  create(input: NewOrganization, actor: Actor): Promise<OrganizationEntity> {
    return this.dataSource.transaction((manager) => this.insert(manager, input, actor));
  }

  /**
   * An active organization with an empty account, owned by a user, in a transaction of the caller's.
   * @throws GatewayError `validation_failed`, `conflict` when the user owns as many as anybody may.
   */
  async createFor(
    manager: EntityManager,
    { name, ownerUserId }: { readonly name: string; readonly ownerUserId: string },
    actor: Actor,
  ): Promise<OrganizationEntity> {
    // Two calls at once must not both see room for the last one.
    await manager.findOne(UserAccountEntity, {
      select: { id: true },
      where: { id: ownerUserId },
      lock: { mode: 'for_no_key_update' },
    });
    const owned = await manager.countBy(OrganizationMemberEntity, { userId: ownerUserId, role: 'owner' });
    if (owned >= MAX_OWNED_ORGANIZATIONS) {
      throw new GatewayError(
        'conflict',
        `You own ${MAX_OWNED_ORGANIZATIONS} organizations, which is the most allowed.`,
      );
    }
    const organization = await this.insert(manager, { name }, actor);
    await manager.insert(OrganizationMemberEntity, {
      organizationId: organization.id,
      userId: ownerUserId,
      role: 'owner',
    });
    return organization;
  }

  /** As {@link createFor}, in a transaction of its own. */
  createOwned(name: string, ownerUserId: string, actor: Actor): Promise<OrganizationEntity> {
    return this.turns.run(ownerUserId, () =>
      this.dataSource.transaction((manager) => this.createFor(manager, { name, ownerUserId }, actor)),
    );
  }

  /** All organizations, oldest first. */
  list(): Promise<OrganizationEntity[]> {
    return this.dataSource.getRepository(OrganizationEntity).find({ order: { createdAt: 'ASC', id: 'ASC' } });
  }

  /**
   * Those that the user is a member of, newest first.
   * @throws GatewayError `validation_failed` for a cursor that is none.
   */
  async pageOf(userId: string, { limit, cursor }: PageRequest): Promise<Page<Membership>> {
    const after = cursor === null ? null : decodeCursor(cursor, ['time', 'uuid']);
    const rows = await findMemberships(this.dataSource.manager, userId, after, limit + 1);
    return toPage(rows, limit, ({ createdAtText, id }) => [createdAtText, id]);
  }

  /** @throws GatewayError `not_found`. */
  async require(organizationId: string): Promise<OrganizationEntity> {
    const organization = await this.dataSource.getRepository(OrganizationEntity).findOneBy({ id: organizationId });
    if (organization === null) throw organizationNotFound();
    return organization;
  }

  /** @throws GatewayError `not_found`, `validation_failed`, `forbidden`. */
  async rename(organizationId: string, name: string, actor: Actor): Promise<OrganizationEntity> {
    const changes = { name: parseName(name) };
    return this.change(organizationId, actor, 'organization.updated', async (manager, before) => {
      await requireRole(manager, organizationId, 'admin', actor);
      await manager.update(OrganizationEntity, { id: organizationId }, changes);
      return changedFields({ name: before.name }, changes);
    });
  }

  /**
   * Refuses every request of the organization, in every process, until {@link activate}.
   * @param reason for the audit log.
   * @throws GatewayError `not_found`.
   */
  suspend(organizationId: string, reason: string | null, actor: Actor): Promise<OrganizationEntity> {
    return this.setStatus(organizationId, 'suspended', 'organization.suspended', reason, actor);
  }

  /** @param reason for the audit log. @throws GatewayError `not_found`. */
  activate(organizationId: string, reason: string | null, actor: Actor): Promise<OrganizationEntity> {
    return this.setStatus(organizationId, 'active', 'organization.activated', reason, actor);
  }

  /**
   * @param monthlyLimitMicro `null`: no limit. What is already spent or held stays.
   * @throws GatewayError `not_found`, `validation_failed`.
   */
  async setMonthlyLimit(organizationId: string, monthlyLimitMicro: Micro | null, actor: Actor): Promise<void> {
    const limit = parseAmount(monthlyLimitMicro, 'monthly_limit_micro');
    await this.change(organizationId, actor, 'organization.limits_updated', async (manager) => {
      const before = await updateMonthlyLimit(manager, organizationId, limit);
      return changedFields({ monthly_limit_micro: toJson(before) }, { monthly_limit_micro: toJson(limit) });
    });
  }

  /**
   * @param limits for all its keys together; `null`: no such limit. Those that are not named stay as they are.
   * @throws GatewayError `not_found`, `validation_failed`.
   */
  async setRateLimits(organizationId: string, limits: Partial<RateLimits>, actor: Actor): Promise<OrganizationEntity> {
    const changes = parseRateLimits(limits);
    return this.change(organizationId, actor, 'organization.limits_updated', async (manager, before) => {
      if (Object.keys(changes).length > 0) await manager.update(OrganizationEntity, { id: organizationId }, changes);
      return changedFields(toRateLimitFields(before), toRateLimitFields({ ...before, ...changes }));
    });
  }

  /** What was charged in the current calendar month (UTC); what is held for requests under way is not in it. */
  findMonthSpending(organizationId: string): Promise<Micro> {
    return findMonthSpending(this.dataSource.manager, organizationId);
  }

  private async insert(manager: EntityManager, input: NewOrganization, actor: Actor): Promise<OrganizationEntity> {
    const id = uuidV7(this.clock.now());
    const name = parseName(input.name);
    const monthlyLimitMicro = parseAmount(input.monthlyLimitMicro, 'monthly_limit_micro');
    await manager.insert(OrganizationEntity, { id, name, ...parseRateLimits(input.limits ?? {}) });
    await openAccount(manager, id, monthlyLimitMicro);
    const organization = await manager.findOneByOrFail(OrganizationEntity, { id });
    await recordAudit(manager, {
      organizationId: id,
      actor,
      action: 'organization.created',
      target: { type: 'organization', id },
      after: { name, ...toRateLimitFields(organization), monthly_limit_micro: toJson(monthlyLimitMicro) },
    });
    return organization;
  }

  private setStatus(
    organizationId: string,
    status: OrganizationStatus,
    action: string,
    reason: string | null,
    actor: Actor,
  ): Promise<OrganizationEntity> {
    return this.change(organizationId, actor, action, async (manager, before) => {
      await manager.update(OrganizationEntity, { id: organizationId }, { status });
      return { before: { status: before.status }, after: { status, ...(reason !== null && { reason }) } };
    });
  }

  /** Runs a change with the organization's row locked, records what it returns, and announces it once it is committed. */
  private async change(
    organizationId: string,
    actor: Actor,
    action: string,
    work: (manager: EntityManager, before: OrganizationEntity) => Promise<{ before: object; after: object }>,
  ): Promise<OrganizationEntity> {
    const organization = await this.dataSource.transaction(async (manager) => {
      const changed = await work(manager, await lockOrganization(manager, organizationId));
      const target = { type: 'organization', id: organizationId };
      await recordAudit(manager, { organizationId, actor, action, target, ...changed });
      return manager.findOneByOrFail(OrganizationEntity, { id: organizationId });
    });
    await publishKeyInvalidation(this.transport, { scope: 'organization', organizationId });
    return organization;
  }
}

function toJson(amount: Micro | null): number | null {
  return amount === null ? null : microToJson(amount);
}
