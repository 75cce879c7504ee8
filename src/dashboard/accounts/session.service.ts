import { Inject, Injectable } from '@nestjs/common';
import { DataSource, MoreThan, type EntityManager } from 'typeorm';
import { CLOCK, type Clock } from '../../core/time/clock';
import { uuidV7 } from '../../core/types/ids';
import type { Role } from '../../core/types/role';
import { digestToken, generateToken, hasTokenShape } from '../../core/secrets/secret-token';
import { UserSessionEntity } from '../../core/database/entities/user-session.entity';
import { APP_CONFIG, type AppConfig } from '../../core/config/app-config';

/** Where a session was created, to show to its owner. */
export interface SessionOrigin {
  readonly address: string | null;
  readonly userAgent: string | null;
}

export interface IssuedSession {
  readonly id: string;
  /** For the cookie; never stored. */
  readonly token: string;
  readonly expiresAt: Date;
}

/** The user of a session, and their role in the requested organization. */
export interface VerifiedSession {
  readonly sessionId: string;
  readonly userId: string;
  readonly email: string;
  readonly name: string;
  readonly isOperator: boolean;
  /** `null`: no organization was requested, or the user is not a member of it. */
  readonly role: Role | null;
}

/** `last_seen_at` is updated at most once in this time, so that reads do not become writes. */
const LONGEST_TOUCH_MS = 60_000;
/** Maximum share of the idle timeout: with less frequent updates, a session in use could expire. */
const TOUCH_SHARE = 0.1;
const MAX_USER_AGENT_LENGTH = 300;
/** Maximum per user, so that the list fits on one page. */
const MAX_SESSIONS = 50;

/** Session, user and role in one query. Finds no session of a disabled user. */
const FIND = `
  SELECT s.id, s.last_seen_at, u.id AS user_id, u.email, u.name, u.is_operator, m.role
    FROM user_session s
    JOIN user_account u ON u.id = s.user_id AND u.status = 'active' AND u.email_verified_at IS NOT NULL
    LEFT JOIN organization_member m ON m.user_id = u.id AND m.organization_id = $4
   WHERE s.digest = $1 AND s.expires_at > $2 AND s.last_seen_at > $3`;

/** Leaves room for one new session. */
const END_SURPLUS = `
  DELETE FROM user_session
   WHERE user_id = $1
     AND id NOT IN (SELECT id FROM user_session
                     WHERE user_id = $1 AND expires_at > $2 AND last_seen_at > $3
                     ORDER BY created_at DESC, id DESC LIMIT ${MAX_SESSIONS - 1})`;

interface FoundRow {
  readonly id: string;
  readonly last_seen_at: Date;
  readonly user_id: string;
  readonly email: string;
  readonly name: string;
  readonly is_operator: boolean;
  readonly role: Role | null;
}

/**
 * Creates, verifies and ends sessions. Each check reads the database, so an ended session is invalid at once
 * everywhere.
 */
@Injectable()
export class SessionService {
  private readonly lifetimes: AppConfig['dashboard']['sessions'];
  private readonly touchAfterMs: number;

  constructor(
    private readonly dataSource: DataSource,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(APP_CONFIG) { dashboard }: Pick<AppConfig, 'dashboard'>,
  ) {
    this.lifetimes = dashboard.sessions;
    this.touchAfterMs = Math.min(LONGEST_TOUCH_MS, this.lifetimes.idleMs * TOUCH_SHARE);
  }

  /** Creates a session with a new token; never adopts a token that the client sends. */
  async create(
    userId: string,
    origin: SessionOrigin,
    manager: EntityManager = this.dataSource.manager,
  ): Promise<IssuedSession> {
    const nowMs = this.clock.now();
    const id = uuidV7(nowMs);
    const token = generateToken();
    const expiresAt = new Date(nowMs + this.lifetimes.absoluteMs);
    await manager.insert(UserSessionEntity, {
      id,
      userId,
      digest: digestToken(token),
      address: origin.address,
      userAgent: origin.userAgent?.slice(0, MAX_USER_AGENT_LENGTH) ?? null,
      createdAt: new Date(nowMs),
      lastSeenAt: new Date(nowMs),
      expiresAt,
    });
    return { id, token, expiresAt };
  }

  /** The session of a token, with the user's role in `organizationId`; `null`: unknown or expired. */
  async verify(token: string, organizationId: string | null): Promise<VerifiedSession | null> {
    if (!hasTokenShape(token)) return null;
    const nowMs = this.clock.now();
    const now = new Date(nowMs);
    const [row] = await this.dataSource.query<FoundRow[]>(FIND, [
      digestToken(token),
      now,
      new Date(nowMs - this.lifetimes.idleMs),
      organizationId,
    ]);
    if (row === undefined) return null;
    if (row.last_seen_at.getTime() <= nowMs - this.touchAfterMs) {
      await this.dataSource.manager.update(UserSessionEntity, { id: row.id }, { lastSeenAt: now });
    }
    return {
      sessionId: row.id,
      userId: row.user_id,
      email: row.email,
      name: row.name,
      isOperator: row.is_operator,
      role: row.role,
    };
  }

  /** The user's active sessions, newest first. */
  list(userId: string): Promise<UserSessionEntity[]> {
    const nowMs = this.clock.now();
    return this.dataSource.manager.find(UserSessionEntity, {
      where: {
        userId,
        expiresAt: MoreThan(new Date(nowMs)),
        lastSeenAt: MoreThan(new Date(nowMs - this.lifetimes.idleMs)),
      },
      order: { createdAt: 'DESC', id: 'DESC' },
    });
  }

  /** Deletes expired sessions and the oldest ones above the limit; call it before creating a session. */
  async endSurplus(userId: string, manager: EntityManager): Promise<void> {
    const nowMs = this.clock.now();
    await manager.query(END_SURPLUS, [userId, new Date(nowMs), new Date(nowMs - this.lifetimes.idleMs)]);
  }

  /** Ends one session of the user. `false`: no such session. */
  async end(sessionId: string, userId: string, manager: EntityManager = this.dataSource.manager): Promise<boolean> {
    const { affected } = await manager.delete(UserSessionEntity, { id: sessionId, userId });
    return affected === 1;
  }

  /** Ends every session of the user. */
  async endAll(userId: string, manager: EntityManager = this.dataSource.manager): Promise<void> {
    await manager.delete(UserSessionEntity, { userId });
  }
}
