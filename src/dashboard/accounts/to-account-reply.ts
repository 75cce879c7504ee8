import type { Login as LoginResult } from './login.service';
import type { UserMembership } from './user.service';
import type { Accepted, CurrentUser, Login, User, UserSession, UserSessionList } from '../../contract/dashboard';
import type { UserAccountEntity } from '../../core/database/entities/user-account.entity';
import type { UserSessionEntity } from '../../core/database/entities/user-session.entity';

export function toAcceptedReply(object: Accepted['object']): Accepted {
  return { object, status: 'accepted' };
}

export function toUserReply({ id, email, name, isOperator, createdAt }: UserAccountEntity): User {
  return { object: 'user', id, email, name, is_operator: isOperator, created_at: createdAt.toISOString() };
}

export function toCurrentUserReply(user: UserAccountEntity, memberships: readonly UserMembership[]): CurrentUser {
  return {
    ...toUserReply(user),
    memberships: memberships.map(({ organizationId, name, role }) => ({
      organization_id: organizationId,
      name,
      role,
    })),
  };
}

export function toLoginReply({ user, session }: LoginResult): Login {
  return {
    object: 'login',
    session_id: session.id,
    expires_at: session.expiresAt.toISOString(),
    user: toUserReply(user),
  };
}

export function toSessionListReply(sessions: readonly UserSessionEntity[], currentSessionId: string): UserSessionList {
  const data = sessions.map((session): UserSession => {
    return {
      object: 'session',
      id: session.id,
      is_current: session.id === currentSessionId,
      address: session.address,
      user_agent: session.userAgent,
      created_at: session.createdAt.toISOString(),
      last_seen_at: session.lastSeenAt.toISOString(),
      expires_at: session.expiresAt.toISOString(),
    };
  });
  return { object: 'list', data, next_cursor: null };
}
