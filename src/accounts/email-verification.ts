import type { EntityManager } from 'typeorm';
import { recordAudit } from '../audit/audit-log';
import type { Actor } from '../common/actor';
import { UserAccountEntity } from '../database/entities/user-account.entity';
import type { OrganizationService } from '../organizations/organization.service';
import type { UserTokenService } from './user-token.service';

/** Whatever proves that somebody reads the mails of an address: a token for it, one for a new password, an invitation. */
export class EmailVerification {
  constructor(
    private readonly organizations: OrganizationService,
    private readonly tokens: UserTokenService,
  ) {}

  /** In a transaction that has locked the user: the address is his, and the organization that he asked for is made. */
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
