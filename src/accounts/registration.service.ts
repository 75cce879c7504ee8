import type { DataSource, EntityManager } from 'typeorm';
import type { Actor } from '../common/actor';
import type { Clock } from '../common/clock';
import { parseEmailAddress, type EmailAddress } from '../common/email-address';
import { GatewayError } from '../common/errors/gateway-error';
import { uuidV7 } from '../common/ids';
import { UserAccountEntity } from '../database/entities/user-account.entity';
import { parseName } from '../organizations/api-key-settings';
import type { InvitationService } from '../organizations/invitation.service';
import type { AccountMails } from './account-mails';
import type { EmailVerification } from './email-verification';
import { recordRequest, type MailRequests } from './mail-requests';
import type { PasswordHasher } from './password-hasher';
import { parseNewPassword } from './password-rules';
import type { UserTokenService } from './user-token.service';
import { asUser, lockUser } from './user-rows';

export interface Registration {
  readonly email: string;
  readonly password: string;
  readonly name: string;
  /** The organization to be made for the user; absent: one that is named after him, unless he is invited to one. */
  readonly organizationName?: string | null;
  /** From the mail that invited this e-mail. One that invites nobody, or somebody else, counts as none. */
  readonly invitationToken?: string | null;
}

/** A registration that was checked. */
interface Applicant extends EmailAddress {
  readonly name: string;
  readonly passwordHash: string;
  readonly organizationName: string | null;
  readonly invitationToken: string | null;
}

/** Sends what has to be sent, once everything is committed. */
type AfterCommit = () => Promise<void>;

const MAX_NAME_LENGTH = 200;
/** Matches no password. */
const NO_PASSWORD = 'none';

/**
 * How people get accounts. Nobody learns here whether an e-mail has one: the answer is the same, and its owner gets a mail
 * in either case. Until the e-mail is verified an account can do nothing; when several have registered it meanwhile, none of
 * their passwords counts, and whoever reads the mails sets one.
 */
export class RegistrationService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly clock: Clock,
    private readonly hasher: PasswordHasher,
    private readonly tokens: UserTokenService,
    private readonly verification: EmailVerification,
    private readonly invitations: InvitationService,
    private readonly requests: MailRequests,
    private readonly mails: AccountMails,
  ) {}

  /** @throws GatewayError `validation_failed`, `rate_limited`, `not_configured`. */
  async register(registration: Registration, visitor: Actor): Promise<void> {
    const address = parseEmailAddress(registration.email);
    const name = parseName(registration.name);
    const organizationName = parseOrganizationName(registration.organizationName);
    const password = parseNewPassword(registration.password);
    this.mails.assertConfigured();
    await this.requests.count(address.emailKey, visitor);
    // Also for an e-mail that is known: it takes the same time.
    const passwordHash = await this.hasher.hash(password);
    const invitationToken = registration.invitationToken ?? null;
    const applicant = { ...address, name, passwordHash, organizationName, invitationToken };
    const send = await this.dataSource.transaction((manager) => this.admit(manager, applicant, visitor));
    await send();
  }

  /** Another mail for an account that is not verified; nothing for any other e-mail. As {@link register}. */
  async requestVerification(email: string, visitor: Actor): Promise<void> {
    const { emailKey } = parseEmailAddress(email);
    this.mails.assertConfigured();
    await this.requests.count(emailKey, visitor);
    const send = await this.dataSource.transaction(async (manager) => {
      const user = await lockUser(manager, { emailKey });
      await recordRequest(manager, 'email_verification.requested', user?.id, visitor);
      if (user === null || user.emailVerifiedAt !== null || user.status !== 'active') return null;
      return this.askForProof(manager, user);
    });
    await send?.();
  }

  /** @throws GatewayError `not_found` for a token that is not, or no longer, good. */
  confirm(token: string, visitor: Actor): Promise<UserAccountEntity> {
    return this.dataSource.transaction(async (manager) => {
      const user = await this.tokens.use(manager, token, 'verify_email');
      const nowMs = this.clock.now();
      await this.verification.complete(manager, user, nowMs, asUser(visitor, user.id));
      return { ...user, emailVerifiedAt: user.emailVerifiedAt ?? new Date(nowMs) };
    });
  }

  private async admit(manager: EntityManager, applicant: Applicant, visitor: Actor): Promise<AfterCommit> {
    const user = await this.findOrInsert(manager, applicant);
    await recordRequest(manager, 'registration.requested', user.id, visitor);
    if (user.emailVerifiedAt !== null || user.status !== 'active') {
      return () => this.mails.sendAlreadyRegistered(user.email);
    }
    const invited = await this.acceptInvitation(manager, applicant, user.id, visitor);
    const { email, name } = applicant;
    // Which of those who have registered reads the mails is not known: a password of one could be verified by another.
    const isAlone = invited || user.passwordHash === applicant.passwordHash;
    const passwordHash = isAlone ? applicant.passwordHash : NO_PASSWORD;
    const signupOrganizationName = applicant.organizationName ?? (invited ? null : organizationOf(name));
    const changes = { email, name, passwordHash, signupOrganizationName };
    await manager.update(UserAccountEntity, { id: user.id }, changes);
    if (invited) {
      await this.verification.complete(manager, { ...user, ...changes }, this.clock.now(), asUser(visitor, user.id));
      return async () => undefined;
    }
    await this.tokens.endAll(manager, user.id);
    return this.askForProof(manager, { ...user, ...changes });
  }

  /** A token for the owner of the address. Who has no password sets one with it. */
  private async askForProof(manager: EntityManager, user: UserAccountEntity): Promise<AfterCommit> {
    const hasPassword = user.passwordHash !== NO_PASSWORD;
    const token = await this.tokens.issue(manager, user.id, hasPassword ? 'verify_email' : 'reset_password');
    return () =>
      hasPassword ? this.mails.sendVerification(user.email, token) : this.mails.sendPasswordChoice(user.email, token);
  }

  /** The account of the e-mail, locked: that of somebody else, or a new one. Of two registrations at once one waits. */
  private async findOrInsert(manager: EntityManager, applicant: Applicant): Promise<UserAccountEntity> {
    const { email, emailKey, name, passwordHash } = applicant;
    await manager
      .createQueryBuilder()
      .insert()
      .into(UserAccountEntity)
      .values({ id: uuidV7(this.clock.now()), email, emailKey, name, passwordHash })
      .orIgnore()
      .execute();
    const user = await lockUser(manager, { emailKey });
    if (user === null) throw new GatewayError('internal_error', 'The account is gone.');
    return user;
  }

  /** The token was in a mail to this address, so that it proves what a verification would. */
  private async acceptInvitation(
    manager: EntityManager,
    { invitationToken, emailKey }: Applicant,
    userId: string,
    visitor: Actor,
  ): Promise<boolean> {
    if (invitationToken === null) return false;
    try {
      const invitation = { token: invitationToken, userId, email: emailKey };
      await this.invitations.accept(manager, invitation, asUser(visitor, userId));
      return true;
    } catch (error) {
      if (error instanceof GatewayError && error.code === 'not_found') return false;
      throw error;
    }
  }
}

function parseOrganizationName(name: string | null | undefined): string | null {
  if (name == null) return null;
  try {
    return parseName(name);
  } catch (error) {
    const param = 'organization_name';
    if (!(error instanceof GatewayError)) throw error;
    throw new GatewayError('validation_failed', `organization_${error.message}`, { param });
  }
}

function organizationOf(name: string): string {
  const suffix = "'s organization";
  return `${[...name].slice(0, MAX_NAME_LENGTH - suffix.length).join('')}${suffix}`;
}
