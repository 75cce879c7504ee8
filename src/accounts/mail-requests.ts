import type { EntityManager } from 'typeorm';
import { recordAudit } from '../audit/audit-log';
import type { Actor } from '../common/actor';
import { parseEmailAddress } from '../common/email-address';
import { mailLogOfAddress, mailLogOfEmail, mailLogOfUser } from './attempt-logs';
import type { AttemptThrottle } from './attempt-throttle';

/** Limits mails that anybody can have sent to anybody: the e-mail and the client's network both have a share. */
export class MailRequests {
  constructor(
    private readonly throttle: AttemptThrottle,
    private readonly attemptsPerAddress: number,
  ) {}

  /** Counts known and unknown e-mails alike. @throws GatewayError `rate_limited`. */
  async count(emailKey: string, { address }: Actor): Promise<void> {
    const ofAddress = address === null ? [] : [mailLogOfAddress(address, this.attemptsPerAddress)];
    await this.throttle.take([mailLogOfEmail(emailKey), ...ofAddress]);
  }

  /** An invitation to an e-mail, by a user. @throws GatewayError `validation_failed`, `rate_limited`. */
  async countInvitation(email: string, userId: string): Promise<void> {
    await this.throttle.take([mailLogOfEmail(parseEmailAddress(email).emailKey), mailLogOfUser(userId)]);
  }
}

/** What anybody may ask for about anybody's e-mail: of unknown ones there is an entry too. */
export function recordRequest(
  manager: EntityManager,
  action: string,
  userId: string | undefined,
  visitor: Actor,
): Promise<void> {
  const target = { type: 'user', id: userId ?? 'unknown' };
  return recordAudit(manager, { organizationId: null, actor: visitor, action, target });
}
