import { Inject, Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import type { Actor } from '../../core/types/actor';
import { CLOCK, type Clock } from '../../core/time/clock';
import { parseEmailAddress, type EmailAddress } from '../../core/types/email-address';
import { GatewayError } from '../../core/errors/gateway-error';
import { uuidV7 } from '../../core/types/ids';
import { UserAccountEntity } from '../../core/database/entities/user-account.entity';
import { parseDisplayName } from '../organizations/display-name';
import { InvitationService } from '../organizations/invitation.service';
import { AccountMails } from './account-mails';
import { EmailVerification } from './email-verification';
import { FollowUpWork } from './follow-up-work';
import { recordRequest, MailRequests } from './mail-requests';
import { PasswordHasher } from './password-hasher';
import { parseNewPassword } from './password-rules';
import { UserTokenService } from './user-token.service';
import { asUser, findUserId, lockUser } from './user-rows';

export interface Registration {
  readonly email: string;
  readonly password: string;
  readonly name: string;
  /** Name of the organization to create; absent: derived from the user's name, unless the user was invited to one. */
  readonly organizationName?: string | null;
  /** From an invitation mail to this address. Ignored when it is invalid or for another address. */
  readonly invitationToken?: string | null;
}

/** A validated registration. */
interface Applicant extends EmailAddress {
  /** The id of the account that is created if the e-mail has none. */
  readonly id: string;
  readonly name: string;
  readonly passwordHash: string;
  readonly organizationName: string | null;
  readonly invitationToken: string | null;
}

/** Sends the mail after the commit. */
type AfterCommit = () => Promise<void>;

const MAX_NAME_LENGTH = 200;
/** Matches no password. */
const NO_PASSWORD = 'none';

/**
 * Registers accounts without revealing whether an e-mail has one: the response is the same, precedes any change, and
 * the owner gets a mail in either case. An unverified account can do nothing. When an e-mail is registered several
 * times before it is verified, all of those passwords are void, and the owner of the mailbox sets a new one.
 */
@Injectable()
export class RegistrationService {
  constructor(
    private readonly dataSource: DataSource,
    @Inject(CLOCK) private readonly clock: Clock,
    private readonly hasher: PasswordHasher,
    private readonly tokens: UserTokenService,
    private readonly verification: EmailVerification,
    private readonly invitations: InvitationService,
    private readonly requests: MailRequests,
    private readonly mails: AccountMails,
    private readonly followUps: FollowUpWork,
  ) {}

  /**
   * Resolves when the registration is in the audit log; the account and the mail follow. Nothing follows when the
   * address has reached its mail limit: the newest mail is still valid.
   * @throws GatewayError `validation_failed`, `rate_limited`, `not_configured`, `service_unavailable`.
   */
  async register(registration: Registration, visitor: Actor): Promise<void> {
    const address = parseEmailAddress(registration.email);
    const name = parseDisplayName(registration.name);
    const organizationName =
      registration.organizationName == null
        ? null
        : parseDisplayName(registration.organizationName, 'organization_name');
    const password = parseNewPassword(registration.password);
    this.mails.assertConfigured();
    this.followUps.assertRoom();
    await this.requests.countRequest(visitor);
    // Also for a registered e-mail, so that it takes the same time.
    const passwordHash = await this.hasher.hash(password);
    const invitationToken = registration.invitationToken ?? null;
    const id = uuidV7(this.clock.now());
    const applicant = { ...address, id, name, passwordHash, organizationName, invitationToken };
    await this.record('registration.requested', address.emailKey, visitor, id);
    this.followUps.add(async () => {
      const send = await this.dataSource.transaction((manager) => this.admit(manager, applicant, visitor));
      await send();
    });
  }

  /** Sends another mail for an unverified account; does nothing for any other e-mail. As {@link register}. */
  async requestVerification(email: string, visitor: Actor): Promise<void> {
    const { emailKey } = parseEmailAddress(email);
    this.mails.assertConfigured();
    this.followUps.assertRoom();
    await this.requests.countRequest(visitor);
    const userId = await this.record('email_verification.requested', emailKey, visitor);
    if (userId === undefined) return;
    this.followUps.add(async () => {
      const send = await this.dataSource.transaction(async (manager) => {
        const user = await lockUser(manager, { id: userId, status: 'active' });
        if (user === null || user.emailVerifiedAt !== null) return null;
        await this.requests.countMail('verification', emailKey, visitor);
        return this.askForProof(manager, user);
      });
      await send?.();
    });
  }

  /** @throws GatewayError `not_found` for a token that is unknown or no longer valid. */
  confirm(token: string, visitor: Actor): Promise<UserAccountEntity> {
    return this.dataSource.transaction(async (manager) => {
      const user = await this.tokens.use(manager, token, 'verify_email');
      const nowMs = this.clock.now();
      await this.verification.complete(manager, user, nowMs, asUser(visitor, user.id));
      return { ...user, emailVerifiedAt: user.emailVerifiedAt ?? new Date(nowMs) };
    });
  }

  /** Runs the same statements whether or not the e-mail has an account. @returns the id of the account, if any. */
  private record(action: string, emailKey: string, visitor: Actor, newUserId?: string): Promise<string | undefined> {
    return this.dataSource.transaction(async (manager) => {
      const userId = await findUserId(manager, emailKey);
      await recordRequest(manager, action, userId ?? newUserId, visitor);
      return userId;
    });
  }

  /** Changes nothing when the mail would exceed the limit. @throws GatewayError `rate_limited`. */
  private async admit(manager: EntityManager, applicant: Applicant, visitor: Actor): Promise<AfterCommit> {
    const user = await this.findOrInsert(manager, applicant);
    if (user.emailVerifiedAt !== null || user.status !== 'active') {
      await this.requests.countMail('registration', user.emailKey, visitor);
      return () => this.mails.sendAlreadyRegistered(user.email);
    }
    const invited = await this.acceptInvitation(manager, applicant, user.id, visitor);
    if (!invited) await this.requests.countMail('registration', user.emailKey, visitor);
    const { email, name } = applicant;
    // With several registrations, the mailbox owner is unknown: one applicant could verify the password of another.
    const isUncontested = invited || user.passwordHash === applicant.passwordHash;
    const passwordHash = isUncontested ? applicant.passwordHash : NO_PASSWORD;
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

  /** Issues a token to the owner of the address, which also sets the password if there is none. */
  private async askForProof(manager: EntityManager, user: UserAccountEntity): Promise<AfterCommit> {
    const hasPassword = user.passwordHash !== NO_PASSWORD;
    const token = await this.tokens.issue(manager, user.id, hasPassword ? 'verify_email' : 'reset_password');
    return () =>
      hasPassword ? this.mails.sendVerification(user.email, token) : this.mails.sendPasswordChoice(user.email, token);
  }

  /** The locked account of the e-mail, existing or new. Concurrent registrations of an e-mail are serialized. */
  private async findOrInsert(manager: EntityManager, applicant: Applicant): Promise<UserAccountEntity> {
    const { id, email, emailKey, name, passwordHash } = applicant;
    await manager
      .createQueryBuilder()
      .insert()
      .into(UserAccountEntity)
      .values({ id, email, emailKey, name, passwordHash })
      .orIgnore()
      .execute();
    const user = await lockUser(manager, { emailKey });
    if (user === null) throw new GatewayError('internal_error', 'The account is missing.');
    return user;
  }

  /** A valid invitation token was mailed to this address, so it also verifies the address. */
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

function organizationOf(name: string): string {
  const suffix = "'s organization";
  return `${[...name].slice(0, MAX_NAME_LENGTH - suffix.length).join('')}${suffix}`;
}
