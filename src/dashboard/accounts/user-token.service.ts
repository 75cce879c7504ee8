import { Inject, Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { CLOCK, type Clock } from '../../core/time/clock';
import { GatewayError } from '../../core/errors/gateway-error';
import { uuidV7 } from '../../core/types/ids';
import { digestToken, generateToken, hasTokenShape } from '../../core/secrets/secret-token';
import type { UserAccountEntity } from '../../core/database/entities/user-account.entity';
import { UserTokenEntity, type UserTokenPurpose } from '../../core/database/entities/user-token.entity';
import { lockUser } from './user-rows';

const HOUR_MS = 3_600_000;
const LIFETIME_MS: Readonly<Record<UserTokenPurpose, number>> = {
  verify_email: 24 * HOUR_MS,
  reset_password: HOUR_MS,
};

/** Single-use tokens in mails, which prove access to the mailbox. Per purpose only the newest token is valid. */
@Injectable()
export class UserTokenService {
  constructor(@Inject(CLOCK) private readonly clock: Clock) {}

  /** Issues a token for a mail and ends earlier ones of the same purpose. */
  async issue(manager: EntityManager, userId: string, purpose: UserTokenPurpose): Promise<string> {
    const nowMs = this.clock.now();
    const token = generateToken();
    await manager.delete(UserTokenEntity, { userId, purpose });
    await manager.insert(UserTokenEntity, {
      id: uuidV7(nowMs),
      userId,
      purpose,
      digest: digestToken(token),
      createdAt: new Date(nowMs),
      expiresAt: new Date(nowMs + LIFETIME_MS[purpose]),
    });
    return token;
  }

  /** The user id of a token, without consuming it. @throws GatewayError `not_found`. */
  async peek(manager: EntityManager, token: string, purpose: UserTokenPurpose): Promise<string> {
    const found = hasTokenShape(token)
      ? await manager.findOne(UserTokenEntity, { where: { digest: digestToken(token), purpose } })
      : null;
    if (found === null || found.expiresAt.getTime() <= this.clock.now()) throw tokenNotFound();
    return found.userId;
  }

  /**
   * Consumes a token: of concurrent calls, one gets its user, whose row is then locked. Locks the user before the
   * token, in the same order as `issue`.
   * @throws GatewayError `not_found`.
   */
  async use(manager: EntityManager, token: string, purpose: UserTokenPurpose): Promise<UserAccountEntity> {
    const userId = await this.peek(manager, token, purpose);
    const user = await lockUser(manager, { id: userId, status: 'active' });
    if (user === null) throw tokenNotFound();
    const { affected } = await manager.delete(UserTokenEntity, { digest: digestToken(token) });
    if (affected !== 1) throw tokenNotFound();
    return user;
  }

  /** Ends all unused tokens of the user. */
  async endAll(manager: EntityManager, userId: string): Promise<void> {
    await manager.delete(UserTokenEntity, { userId });
  }
}

function tokenNotFound(): GatewayError {
  return new GatewayError('not_found', 'The token is unknown, already used, replaced by a newer one, or expired.');
}
