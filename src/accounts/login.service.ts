import type { DataSource, EntityManager } from 'typeorm';
import { recordAudit } from '../audit/audit-log';
import type { Actor } from '../common/actor';
import type { Clock } from '../common/clock';
import { parseEmailAddress } from '../common/email-address';
import { GatewayError } from '../common/errors/gateway-error';
import { UserAccountEntity } from '../database/entities/user-account.entity';
import { loginLogOfAccount, loginLogOfAddress } from './attempt-logs';
import type { AttemptThrottle } from './attempt-throttle';
import type { PasswordHasher } from './password-hasher';
import type { IssuedSession, SessionOrigin, SessionService } from './session.service';
import { asUser, findUserToJudge, lockUser } from './user-rows';

export interface Login {
  readonly user: UserAccountEntity;
  readonly session: IssuedSession;
}

/**
 * From e-mail and password to a session. Whoever does not know the password learns nothing: an e-mail without an account
 * gets the same answer after the same time, and is throttled in the same way.
 */
export class LoginService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly clock: Clock,
    private readonly hasher: PasswordHasher,
    private readonly sessions: SessionService,
    private readonly throttle: AttemptThrottle,
    private readonly attemptsPerAddress: number,
  ) {}

  /**
   * @throws GatewayError `invalid_credentials`, `rate_limited`; with the right password also `account_disabled` and
   *   `email_not_verified`.
   */
  async login(email: string, password: string, origin: SessionOrigin, visitor: Actor): Promise<Login> {
    const { emailKey } = parseEmailAddress(email);
    const enter = () => this.tryLogin(emailKey, password, origin, visitor);
    // What was verified may have changed meanwhile, if only by another login that hashed it anew: it is judged once more.
    const login = (await enter()) ?? (await enter());
    if (login === null) throw invalidCredentials();
    return login;
  }

  /**
   * The user whose password it is.
   * @throws GatewayError `invalid_credentials`, `rate_limited`.
   */
  async authenticate(
    emailKey: string,
    password: string,
    { address }: Actor,
  ): Promise<{ readonly user: UserAccountEntity; readonly isOutdated: boolean }> {
    const ofAccount = loginLogOfAccount(emailKey);
    const ofAddress = address === null ? [] : [loginLogOfAddress(address, this.attemptsPerAddress)];
    const attempt = await this.throttle.take([ofAccount, ...ofAddress]);
    const judged = await this.judge(emailKey, password).catch(async (error: unknown) => {
      // Nobody has learned anything, so it was no attempt.
      await this.throttle.giveBack(attempt, [ofAccount, ...ofAddress]);
      throw error;
    });
    if (judged === null) throw invalidCredentials();
    // Failures of the address stay: an account of his own must not buy anybody more guesses at those of others.
    await this.throttle.giveBack(attempt, ofAddress);
    await this.throttle.clear(ofAccount, attempt.atMs);
    return judged;
  }

  /** `null`: the account is no longer what it was when its password was verified. */
  private async tryLogin(
    emailKey: string,
    password: string,
    origin: SessionOrigin,
    visitor: Actor,
  ): Promise<Login | null> {
    const { user, isOutdated } = await this.authenticate(emailKey, password, visitor);
    if (user.status !== 'active') throw new GatewayError('account_disabled', 'This account is disabled.');
    if (user.emailVerifiedAt === null) {
      throw new GatewayError('email_not_verified', 'Confirm your e-mail address first; the mail says how.');
    }
    // Made before anything is locked.
    const newHash = isOutdated ? await this.hasher.hash(password).catch(() => null) : null;
    return this.dataSource.transaction((manager) => this.begin(manager, user, newHash, origin, visitor));
  }

  private async judge(emailKey: string, password: string) {
    const user = await findUserToJudge(this.dataSource.manager, emailKey);
    const { matches, isOutdated } = await this.hasher.verify(user?.passwordHash ?? null, password);
    return user !== null && matches ? { user, isOutdated } : null;
  }

  private async begin(
    manager: EntityManager,
    judged: UserAccountEntity,
    newHash: string | null,
    origin: SessionOrigin,
    visitor: Actor,
  ): Promise<Login | null> {
    const user = await lockUser(manager, { id: judged.id, status: 'active' });
    if (user === null || user.passwordHash !== judged.passwordHash) return null;
    const lastLoginAt = new Date(this.clock.now());
    const rehashed = newHash === null ? {} : { passwordHash: newHash };
    await manager.update(UserAccountEntity, { id: user.id }, { lastLoginAt, ...rehashed });
    await this.sessions.endSurplus(user.id, manager);
    const session = await this.sessions.create(user.id, origin, manager);
    await recordAudit(manager, {
      organizationId: null,
      actor: asUser(visitor, user.id),
      action: 'session.created',
      target: { type: 'session', id: session.id },
    });
    return { user: { ...user, lastLoginAt }, session };
  }
}

export function invalidCredentials(): GatewayError {
  return new GatewayError('invalid_credentials', 'The e-mail or the password is wrong.');
}
