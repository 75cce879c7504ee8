import { Inject, Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { recordAudit } from '../../core/database/audit-log';
import type { Actor } from '../../core/types/actor';
import { Metrics } from '../../core/observability/metrics/catalogue';
import { CLOCK, type Clock } from '../../core/time/clock';
import { parseEmailAddress } from '../../core/types/email-address';
import { GatewayError } from '../../core/errors/gateway-error';
import { UserAccountEntity } from '../../core/database/entities/user-account.entity';
import { loginLogsOf } from './attempt-logs';
import { AttemptThrottle } from '../../auth/rate-limits/attempt-throttle';
import { PasswordHasher } from './password-hasher';
import { type IssuedSession, type SessionOrigin, SessionService } from './session.service';
import { SignInHistoryStore } from './sign-in-history';
import { asUser, findUserForLogin, lockUser } from './user-rows';
import { APP_CONFIG, type AppConfig } from '../../core/config/app-config';

export interface Login {
  readonly user: UserAccountEntity;
  readonly session: IssuedSession;
}

/**
 * Creates a session from e-mail and password. Without the right password a caller learns nothing: an e-mail without an
 * account gets the same response after the same time, and is throttled in the same way.
 */
@Injectable()
export class LoginService {
  constructor(
    private readonly dataSource: DataSource,
    @Inject(CLOCK) private readonly clock: Clock,
    private readonly hasher: PasswordHasher,
    private readonly sessions: SessionService,
    private readonly throttle: AttemptThrottle,
    private readonly history: SignInHistoryStore,
    @Inject(APP_CONFIG) private readonly config: Pick<AppConfig, 'dashboard'>,
    private readonly metrics: Metrics,
  ) {}

  /**
   * @throws GatewayError `invalid_credentials`, `rate_limited`; with the right password also `account_disabled` and
   *   `email_not_verified`.
   */
  async login(email: string, password: string, origin: SessionOrigin, visitor: Actor): Promise<Login> {
    try {
      const login = await this.openSession(email, password, origin, visitor);
      this.metrics.logins.of('success').inc();
      return login;
    } catch (error) {
      this.metrics.logins.of(error instanceof GatewayError ? error.code : 'internal_error').inc();
      throw error;
    }
  }

  private async openSession(email: string, password: string, origin: SessionOrigin, visitor: Actor): Promise<Login> {
    const { emailKey } = parseEmailAddress(email);
    const attempt = () => this.tryLogin(emailKey, password, origin, visitor);
    // The account may have changed since verification, for example by a login that rehashed the password: retry once.
    const login = (await attempt()) ?? (await attempt());
    if (login === null) throw invalidCredentials();
    return login;
  }

  /**
   * Verifies the password and returns its user.
   * @throws GatewayError `invalid_credentials`, `rate_limited`.
   */
  async authenticate(
    emailKey: string,
    password: string,
    { address }: Actor,
  ): Promise<{ readonly user: UserAccountEntity; readonly isOutdated: boolean }> {
    const history = await this.history.find(emailKey, address);
    const { pair, others } = loginLogsOf(emailKey, address, history, this.config.dashboard.attemptsPerAddress);
    const logs = [pair, ...others];
    const attempt = await this.throttle.take(logs);
    const verified = await this.verifyPassword(emailKey, password).catch(async (error: unknown) => {
      // The caller has learned nothing, so this was not an attempt.
      await this.throttle.giveBack(attempt, logs);
      throw error;
    });
    if (verified === null) throw invalidCredentials();
    // Other failures stay counted: logging in to one's own account must not reset the network's guesses at other
    // accounts, and the owner's login must not reset an attacker's guesses.
    await this.throttle.giveBack(attempt, logs);
    await this.throttle.clear(pair, attempt.atMs);
    await this.history.addNetwork(emailKey, address);
    return verified;
  }

  /** `null`: the account has changed since its password was verified. */
  private async tryLogin(
    emailKey: string,
    password: string,
    origin: SessionOrigin,
    visitor: Actor,
  ): Promise<Login | null> {
    const { user, isOutdated } = await this.authenticate(emailKey, password, visitor);
    if (user.status !== 'active') throw new GatewayError('account_disabled', 'This account is disabled.');
    if (user.emailVerifiedAt === null) {
      throw new GatewayError(
        'email_not_verified',
        'Confirm your e-mail address first. The link is in the mail that we sent you.',
      );
    }
    // Before any lock, because hashing is slow.
    const newHash = isOutdated ? await this.hasher.hash(password).catch(() => null) : null;
    return this.dataSource.transaction((manager) => this.begin(manager, user, newHash, origin, visitor));
  }

  private async verifyPassword(emailKey: string, password: string) {
    const user = await findUserForLogin(this.dataSource.manager, emailKey);
    const { matches, isOutdated } = await this.hasher.verify(user?.passwordHash ?? null, password);
    return user !== null && matches ? { user, isOutdated } : null;
  }

  private async begin(
    manager: EntityManager,
    verified: UserAccountEntity,
    newHash: string | null,
    origin: SessionOrigin,
    visitor: Actor,
  ): Promise<Login | null> {
    const user = await lockUser(manager, { id: verified.id, status: 'active' });
    if (user === null || user.passwordHash !== verified.passwordHash) return null;
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
