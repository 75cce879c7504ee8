/**
 * Administration of organizations, used by the command line and the dashboard. Authentication (`auth/`) only reads this
 * data. Every change is in the audit log, and is committed before it is published, so that no process reads the old
 * state after an invalidation.
 */
import { Inject, Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { recordAudit } from '../../core/database/audit-log';
import { publishKeyInvalidation, type KeyInvalidationTransport } from '../../auth/api-keys/key-invalidation';
import { AccountQueue } from '../../core/concurrency/account-queue';
import type { Actor } from '../../core/types/actor';
import { CLOCK, type Clock } from '../../core/time/clock';
import { decodeCursor } from '../../core/types/cursor';
import { GatewayError } from '../../core/errors/gateway-error';
import { uuidV7 } from '../../core/types/ids';
import { microToJson, type Micro } from '../../core/types/micro';
import { type RateLimits, toRateLimitFields } from '../../core/types/rate-limits';
import { toPage, type Page, type PageRequest } from '../../core/types/page';
import { OrganizationMemberEntity } from '../../core/database/entities/organization-member.entity';
import { OrganizationEntity, type OrganizationStatus } from '../../core/database/entities/organization.entity';
import { UserAccountEntity } from '../../core/database/entities/user-account.entity';
import { parseAmount, parseRateLimits } from '../../auth/api-keys/api-key-settings';
import { parseDisplayName } from './display-name';
import { changedFields } from '../../core/database/changed-fields';
import { findMonthSpending, openAccount, updateMonthlyLimit } from './organization-account.repository';
import { lockOrganization, organizationNotFound, requireRole } from '../../auth/organization-access';
import { findMemberships, type Membership } from './membership.repository';
import { REDIS } from '../../core/redis/redis.module';

const MAX_OWNED_ORGANIZATIONS = 10;

export interface NewOrganization {
  readonly name: string;
  /** The operator's limit for spending per calendar month (UTC); `null` or absent: none. */
  readonly monthlyLimitMicro?: Micro | null;
  readonly limits?: Partial<RateLimits>;
}

@Injectable()
export class OrganizationService {
  /** Serializes the changes of one owner. */
  private readonly ownerLocks: AccountQueue;

  constructor(
    private readonly dataSource: DataSource,
    @Inject(REDIS) private readonly transport: KeyInvalidationTransport,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {
    this.ownerLocks = new AccountQueue(clock);
  }

  /**
   * Creates an active organization with an empty account and no members.
   * @throws GatewayError `validation_failed`.
   */
  create(input: NewOrganization, actor: Actor): Promise<OrganizationEntity> {
    return this.dataSource.transaction((manager) => this.insert(manager, input, actor));
  }

  /**
   * Creates an active organization with an empty account, owned by a user, in the caller's transaction.
   * @throws GatewayError `validation_failed`, `conflict` when the user owns the maximum number.
   */
  async createFor(
    manager: EntityManager,
    { name, ownerUserId }: { readonly name: string; readonly ownerUserId: string },
    actor: Actor,
  ): Promise<OrganizationEntity> {
    // Serialized, so that concurrent calls do not both use the last free slot.
    await manager.findOne(UserAccountEntity, {
      select: { id: true },
      where: { id: ownerUserId },
      lock: { mode: 'for_no_key_update' },
    });
    const owned = await manager.countBy(OrganizationMemberEntity, { userId: ownerUserId, role: 'owner' });
    if (owned >= MAX_OWNED_ORGANIZATIONS) {
      throw new GatewayError('conflict', `You own ${MAX_OWNED_ORGANIZATIONS} organizations, which is the maximum.`);
    }
    const organization = await this.insert(manager, { name }, actor);
    await manager.insert(OrganizationMemberEntity, {
      organizationId: organization.id,
      userId: ownerUserId,
      role: 'owner',
    });
    return organization;
  }

  /** As {@link createFor}, in a new transaction. */
  createOwned(name: string, ownerUserId: string, actor: Actor): Promise<OrganizationEntity> {
    return this.ownerLocks.runExclusive(ownerUserId, () =>
      this.dataSource.transaction((manager) => this.createFor(manager, { name, ownerUserId }, actor)),
    );
  }

  /** All organizations, oldest first. */
  list(): Promise<OrganizationEntity[]> {
    return this.dataSource.getRepository(OrganizationEntity).find({ order: { createdAt: 'ASC', id: 'ASC' } });
  }

  /**
   * The user's organizations, newest first.
   * @throws GatewayError `validation_failed` for an invalid cursor.
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
    const changes = { name: parseDisplayName(name) };
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
   * Sets the operator's limit; the organization's limit is part of its billing settings, and the lower one applies.
   * @param monthlyLimitMicro `null`: no limit. Existing spending and holds remain.
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
   * @param limits for all keys of the organization together; `null`: no such limit. Absent limits are unchanged.
   * @throws GatewayError `not_found`, `validation_failed`.
   */
  async setRateLimits(organizationId: string, limits: Partial<RateLimits>, actor: Actor): Promise<OrganizationEntity> {
    const changes = parseRateLimits(limits);
    return this.change(organizationId, actor, 'organization.limits_updated', async (manager, before) => {
      if (Object.keys(changes).length > 0) await manager.update(OrganizationEntity, { id: organizationId }, changes);
      return changedFields(toRateLimitFields(before), toRateLimitFields({ ...before, ...changes }));
    });
  }

  /** Charges of the current calendar month (UTC), without holds of requests in flight. */
  findMonthSpending(organizationId: string): Promise<Micro> {
    return findMonthSpending(this.dataSource.manager, organizationId);
  }

  private async insert(manager: EntityManager, input: NewOrganization, actor: Actor): Promise<OrganizationEntity> {
    const id = uuidV7(this.clock.now());
    const name = parseDisplayName(input.name);
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

  /** Runs a change with the organization's row locked, records its result, and publishes it after the commit. */
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
