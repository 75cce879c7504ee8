import { randomBytes } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { AccountQueue } from '../../core/concurrency/account-queue';
import { APP_CONFIG, type AppConfig } from '../../core/config/app-config';
import { recordAudit } from '../../core/database/audit-log';
import { ApiKeyEntity } from '../../core/database/entities/api-key.entity';
import { PlaygroundSecretEntity } from '../../core/database/entities/playground-secret.entity';
import { UserSessionEntity } from '../../core/database/entities/user-session.entity';
import { GatewayError } from '../../core/errors/gateway-error';
import { CLOCK, type Clock } from '../../core/time/clock';
import type { Actor } from '../../core/types/actor';
import { uuidV7 } from '../../core/types/ids';
import type { Micro } from '../../core/types/micro';
import { lockOrganization, requireActive, requireRole } from '../organization-access';
import { digestApiKey, generateApiKey, toDisplayParts } from './api-key';
import { API_KEY_PEPPER } from './api-key-pepper';
import { insertApiKey } from './api-key-rows';
import { parseApiKeySettings } from './api-key-settings';

const MAX_LIFETIME_MS = 3_600_000;
const MAX_SECRETS = 3;
const DIGEST_BYTES = 32;

/** Deletes expired and the oldest secrets, to make room for a new one. */
const DELETE_OLDEST = `
  DELETE FROM playground_secret
   WHERE api_key_id = $1
     AND digest NOT IN (SELECT digest FROM playground_secret
                         WHERE api_key_id = $1 AND expires_at > $2
                         ORDER BY created_at DESC, digest LIMIT ${MAX_SECRETS - 1})`;

/** The signed-in user whose dashboard page requests a key. */
export interface PlaygroundUser {
  readonly userId: string;
  readonly sessionId: string;
  readonly email: string;
  readonly actor: Actor;
}

/** `key` is available in plain text only here. */
export interface IssuedPlaygroundKey {
  readonly key: string;
  readonly apiKeyId: string;
  readonly expiresAt: Date;
}

/**
 * Issues the secrets that dashboard pages use to call `/v1`. Each user has one playground API key per organization, so
 * that its budget covers all tabs and days; its secrets are short-lived. `ApiKeyRepository` decides when they work.
 */
@Injectable()
export class PlaygroundKeyService {
  private readonly issues: AccountQueue;
  private readonly dailyBudgetMicro: Micro;
  /** Idle timeout of sessions. Using a key does not extend its session, so the key expires with this timeout. */
  private readonly sessionIdleMs: number;

  constructor(
    private readonly dataSource: DataSource,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(API_KEY_PEPPER) private readonly pepper: string,
    @Inject(APP_CONFIG) { dashboard }: Pick<AppConfig, 'dashboard'>,
  ) {
    this.issues = new AccountQueue(clock);
    this.dailyBudgetMicro = BigInt(dashboard.playgroundDailyBudgetMicro);
    this.sessionIdleMs = dashboard.sessions.idleMs;
  }

  /**
   * @throws GatewayError `not_found`, `forbidden`, `unauthenticated`, `conflict` while the organization is suspended.
   */
  issue(organizationId: string, user: PlaygroundUser): Promise<IssuedPlaygroundKey> {
    const work = async (manager: EntityManager): Promise<IssuedPlaygroundKey> => {
      const organization = await lockOrganization(manager, organizationId);
      await requireRole(manager, organizationId, 'developer', user.actor);
      requireActive(organization);
      const session = await manager.findOne(UserSessionEntity, {
        where: { id: user.sessionId, userId: user.userId },
        lock: { mode: 'for_key_share' },
      });
      if (session === null) throw new GatewayError('unauthenticated', 'The session has ended. Sign in again.');
      const nowMs = this.clock.now();
      const apiKeyId = await this.apiKeyOf(manager, organizationId, user);
      await manager.query(DELETE_OLDEST, [apiKeyId, new Date(nowMs)]);
      const key = generateApiKey();
      const expiresAt = new Date(
        Math.min(nowMs + MAX_LIFETIME_MS, nowMs + this.sessionIdleMs, session.expiresAt.getTime()),
      );
      await manager.insert(PlaygroundSecretEntity, {
        digest: digestApiKey(key, this.pepper),
        apiKeyId,
        sessionId: session.id,
        createdAt: new Date(nowMs),
        expiresAt,
      });
      await recordAudit(manager, {
        organizationId,
        actor: user.actor,
        action: 'playground_key.issued',
        target: { type: 'api_key', id: apiKeyId },
        after: { expires_at: expiresAt.toISOString() },
      });
      return { key, apiKeyId, expiresAt };
    };
    return this.issues.runExclusive(organizationId, () => this.dataSource.transaction(work));
  }

  /** The user's playground API key with the configured budget. The organization is locked, so there is only one. */
  private async apiKeyOf(manager: EntityManager, organizationId: string, user: PlaygroundUser): Promise<string> {
    const { userId, email } = user;
    const { dailyBudgetMicro } = this;
    const known = await manager.findOneBy(ApiKeyEntity, { organizationId, playgroundUserId: userId });
    if (known !== null) {
      if (known.dailyBudgetMicro !== dailyBudgetMicro) {
        await manager.update(ApiKeyEntity, { id: known.id }, { dailyBudgetMicro });
      }
      return known.id;
    }
    const identity = {
      id: uuidV7(this.clock.now()),
      organizationId,
      // Matches no secret.
      digest: randomBytes(DIGEST_BYTES),
      ...toDisplayParts(generateApiKey()),
      createdBy: userId,
      playgroundUserId: userId,
    };
    const name = `Playground: ${email}`.slice(0, 200);
    const settings = parseApiKeySettings({ name, dailyBudgetMicro }, this.clock.now());
    return (await insertApiKey(manager, identity, settings, true)).id;
  }
}
