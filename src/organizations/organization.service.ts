/**
 * Organizations and their keys as their owners see them: the command line uses these services, and so will the
 * dashboard. Authentication (`auth/`) only reads what is written here. Every change is committed before it is
 * announced, so that no process can read the old state after having been told of the new one.
 */
import type { DataSource } from 'typeorm';
import { publishKeyInvalidation, type KeyInvalidationTransport } from '../auth/key-invalidation';
import type { Clock } from '../common/clock';
import { GatewayError } from '../common/errors/gateway-error';
import { uuidV7 } from '../common/ids';
import type { Micro } from '../common/micro';
import type { RateLimits } from '../common/rate-limits';
import { OrganizationEntity, type OrganizationStatus } from '../database/entities/organization.entity';
import { parseAmount, parseName, parseRateLimits } from './api-key-settings';
import { findMonthSpending, openAccount, updateMonthlyLimit } from './organization-account.repository';

export interface NewOrganization {
  readonly name: string;
  /** Most that may be spent in a calendar month (UTC); `null` or absent: no limit. */
  readonly monthlyLimitMicro?: Micro | null;
  readonly limits?: Partial<RateLimits>;
}

export class OrganizationService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly transport: KeyInvalidationTransport,
    private readonly clock: Clock,
  ) {}

  /**
   * An active organization with an empty account.
   * @throws GatewayError `validation_failed`.
   */
  async create(input: NewOrganization): Promise<OrganizationEntity> {
    const id = uuidV7(this.clock.now());
    const name = parseName(input.name);
    const monthlyLimitMicro = parseAmount(input.monthlyLimitMicro, 'monthly_limit_micro');
    const limits = parseRateLimits(input.limits ?? {});
    await this.dataSource.transaction(async (manager) => {
      await manager.insert(OrganizationEntity, { id, name, ...limits });
      await openAccount(manager, id, monthlyLimitMicro);
    });
    return this.require(id);
  }

  /** All organizations, oldest first. */
  list(): Promise<OrganizationEntity[]> {
    return this.dataSource.getRepository(OrganizationEntity).find({ order: { createdAt: 'ASC', id: 'ASC' } });
  }

  /** @throws GatewayError `not_found`. */
  async require(organizationId: string): Promise<OrganizationEntity> {
    const organization = await this.dataSource.getRepository(OrganizationEntity).findOneBy({ id: organizationId });
    if (organization === null) throw organizationNotFound();
    return organization;
  }

  /** Refuses every request of the organization, in every process, until {@link activate}. */
  suspend(organizationId: string): Promise<OrganizationEntity> {
    return this.setStatus(organizationId, 'suspended');
  }

  activate(organizationId: string): Promise<OrganizationEntity> {
    return this.setStatus(organizationId, 'active');
  }

  /**
   * @param monthlyLimitMicro `null`: no limit. What is already spent or held stays.
   * @throws GatewayError `not_found`, `validation_failed`.
   */
  async setMonthlyLimit(organizationId: string, monthlyLimitMicro: Micro | null): Promise<void> {
    const limit = parseAmount(monthlyLimitMicro, 'monthly_limit_micro');
    await this.require(organizationId);
    await updateMonthlyLimit(this.dataSource.manager, organizationId, limit);
  }

  /**
   * @param limits for all its keys together; `null`: no such limit. Those that are not named stay as they are.
   * @throws GatewayError `not_found`, `validation_failed`.
   */
  async setRateLimits(organizationId: string, limits: Partial<RateLimits>): Promise<void> {
    const changes = parseRateLimits(limits);
    await this.require(organizationId);
    if (Object.keys(changes).length === 0) return;
    await this.dataSource.getRepository(OrganizationEntity).update({ id: organizationId }, changes);
    await publishKeyInvalidation(this.transport, { scope: 'organization', organizationId });
  }

  /** What was charged in the current calendar month (UTC); what is held for requests under way is not in it. */
  findMonthSpending(organizationId: string): Promise<Micro> {
    return findMonthSpending(this.dataSource.manager, organizationId);
  }

  private async setStatus(organizationId: string, status: OrganizationStatus): Promise<OrganizationEntity> {
    await this.dataSource.getRepository(OrganizationEntity).update({ id: organizationId }, { status });
    const organization = await this.require(organizationId);
    await publishKeyInvalidation(this.transport, { scope: 'organization', organizationId });
    return organization;
  }
}

export function organizationNotFound(): GatewayError {
  return new GatewayError('not_found', 'There is no such organization.');
}
