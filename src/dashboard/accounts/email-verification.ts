import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { recordAudit } from '../../core/database/audit-log';
import type { Actor } from '../../core/types/actor';
import { UserAccountEntity } from '../../core/database/entities/user-account.entity';
import { OrganizationService } from '../organizations/organization.service';
import { UserTokenService } from './user-token.service';

/**
 * Completes a verification, by any proof that the user reads the mailbox: verification token, reset token or
 * invitation.
 */
@Injectable()
export class EmailVerification {
  constructor(
    private readonly organizations: OrganizationService,
    private readonly tokens: UserTokenService,
  ) {}

  /**
   * Marks the address as verified and creates the requested organization. Needs a transaction that has locked the user.
   */
  async complete(manager: EntityManager, user: UserAccountEntity, nowMs: number, actor: Actor): Promise<void> {
    if (user.emailVerifiedAt !== null) return;
    const emailVerifiedAt = new Date(nowMs);
    await manager.update(UserAccountEntity, { id: user.id }, { emailVerifiedAt, signupOrganizationName: null });
    await this.tokens.endAll(manager, user.id);
    if (user.signupOrganizationName !== null) {
      const name = user.signupOrganizationName;
      await this.organizations.createFor(manager, { name, ownerUserId: user.id }, actor);
    }
    await recordAudit(manager, {
      organizationId: null,
      actor,
      action: 'user.verified',
      target: { type: 'user', id: user.id },
      before: { email_verified_at: null },
      after: { email_verified_at: emailVerifiedAt.toISOString() },
    });
  }
}
