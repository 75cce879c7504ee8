import { Inject, Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { recordAudit } from '../../core/database/audit-log';
import type { Actor } from '../../core/types/actor';
import { parseEmailAddress } from '../../core/types/email-address';
import { mailLogOfAddress, mailLogOfUser, mailLogsOfEmail, type MailPurpose } from './attempt-logs';
import { networkOf } from '../../auth/rate-limits/attempt-log';
import { AttemptThrottle } from '../../auth/rate-limits/attempt-throttle';
import { APP_CONFIG, type AppConfig } from '../../core/config/app-config';

/**
 * Limits the mails that a caller can cause to any address. An address is limited by the mails sent to it, per purpose
 * and sender; requests count only towards the network that they come from.
 */
@Injectable()
export class MailRequests {
  constructor(
    private readonly throttle: AttemptThrottle,
    @Inject(APP_CONFIG) private readonly config: Pick<AppConfig, 'dashboard'>,
  ) {}

  /** Counts a request of an anonymous visitor towards the network. @throws GatewayError `rate_limited`. */
  async countRequest({ address }: Actor): Promise<void> {
    if (address === null) return;
    const { attemptsPerAddress } = this.config.dashboard;
    await this.throttle.take([mailLogOfAddress(address, attemptsPerAddress)]);
  }

  /**
   * Counts a mail that is about to be sent for a visitor. Call it after the response: only addresses with an account
   * reach the limit, so a refusal would reveal which ones have accounts.
   * @throws GatewayError `rate_limited`.
   */
  async countMail(purpose: MailPurpose, emailKey: string, { address }: Actor): Promise<void> {
    await this.throttle.take(mailLogsOfEmail(purpose, emailKey, senderOf(address)));
  }

  /**
   * Runs `invite`, which sends an invitation by the user to the address. A failed invitation does not count.
   * @throws GatewayError `validation_failed`, `rate_limited`, and as `invite`.
   */
  async inviteWithinLimit<Result>(email: string, userId: string, invite: () => Promise<Result>): Promise<Result> {
    const logs = [...mailLogsOfEmail('invitation', parseEmailAddress(email).emailKey, userId), mailLogOfUser(userId)];
    const mail = await this.throttle.take(logs);
    try {
      return await invite();
    } catch (error) {
      await this.throttle.giveBack(mail, logs);
      throw error;
    }
  }

  /** Drops the count of earlier mails, because the owner of the address has used one. Never throws. */
  async forgetSent(purpose: MailPurpose, emailKey: string, { address }: Actor, nowMs: number): Promise<void> {
    const logs = mailLogsOfEmail(purpose, emailKey, senderOf(address));
    for (const log of logs) await this.throttle.clear(log, nowMs);
  }
}

function senderOf(address: string | null): string {
  return address === null ? 'unknown' : networkOf(address);
}

/** Writes the audit entry of a request that needs no session; also for an e-mail without an account. */
export function recordRequest(
  manager: EntityManager,
  action: string,
  userId: string | undefined,
  visitor: Actor,
): Promise<void> {
  const target = { type: 'user', id: userId ?? 'unknown' };
  return recordAudit(manager, { organizationId: null, actor: visitor, action, target });
}
