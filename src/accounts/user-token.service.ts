import type { EntityManager } from 'typeorm';
import type { Clock } from '../common/clock';
import { GatewayError } from '../common/errors/gateway-error';
import { uuidV7 } from '../common/ids';
import { digestToken, generateToken, hasTokenShape } from '../common/secret-token';
import type { UserAccountEntity } from '../database/entities/user-account.entity';
import { UserTokenEntity, type UserTokenPurpose } from '../database/entities/user-token.entity';
import { lockUser } from './user-rows';

const HOUR_MS = 3_600_000;
const LIFETIME_MS: Readonly<Record<UserTokenPurpose, number>> = {
  verify_email: 24 * HOUR_MS,
  reset_password: HOUR_MS,
};

/** What is mailed to prove that an address is read by its owner: of each purpose only the newest counts, and once. */
export class UserTokenService {
  constructor(private readonly clock: Clock) {}

  /** A new token for a mail; the former ones of this purpose end. */
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

  /** Whose token it is, without using it up. @throws GatewayError `not_found`. */
  async peek(manager: EntityManager, token: string, purpose: UserTokenPurpose): Promise<string> {
    const found = hasTokenShape(token)
      ? await manager.findOne(UserTokenEntity, { where: { digest: digestToken(token), purpose } })
      : null;
    if (found === null || found.expiresAt.getTime() <= this.clock.now()) throw tokenNotFound();
    return found.userId;
  }

  /**
   * Uses up a token: of many calls at once, one gets its user, whose row is locked from then on. The row is locked before
   * the token is, as whoever issues one does.
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

  /** Ends what was mailed and not used. */
  async endAll(manager: EntityManager, userId: string): Promise<void> {
    await manager.delete(UserTokenEntity, { userId });
  }
}

function tokenNotFound(): GatewayError {
  return new GatewayError('not_found', 'The token is unknown, was used, was replaced by a newer one, or has expired.');
}
