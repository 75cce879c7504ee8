import { Injectable, Logger } from '@nestjs/common';
import type { Micro } from '../../core/types/micro';
import { Mailer } from '../../core/mail/mailer';
import { quotedName } from '../../core/mail/quoted-name';
import { type LowBalance, LowBalanceRepository } from './low-balance.repository';

const logger = new Logger('LowBalance');

/** Emails owners and admins when the balance falls below their threshold, once until credit is added. */
@Injectable()
export class LowBalanceService {
  constructor(
    private readonly balances: LowBalanceRepository,
    private readonly mailer: Mailer,
  ) {}

  /** Returns how many organizations were notified. */
  async sendNotices(): Promise<number> {
    await this.balances.rearm();
    let notified = 0;
    for (let balance = await this.balances.claim(); balance !== null; balance = await this.balances.claim()) {
      // The mail server is probably down: the next run notifies the others.
      if (!(await this.mail(balance))) break;
      await this.balances.markNotified(balance.organizationId);
      notified++;
    }
    return notified;
  }

  /**
   * `false` when the mail server accepted no notice: the organization is claimed again after five minutes. Once one notice
   * is sent, the mailer's queue retries the others.
   */
  private async mail(balance: LowBalance): Promise<boolean> {
    const mails = balance.recipients.map((to) => ({ to, ...textOf(balance) }));
    const outcomes = await Promise.allSettled(mails.map((mail) => this.mailer.deliver(mail)));
    const failed = mails.filter((_mail, index) => outcomes[index]?.status === 'rejected');
    if (failed.length === 0) return true;
    const message = `${failed.length} of ${mails.length} notices of a low balance could not be sent`;
    logger.warn({ event: 'low_balance_notice_failed', message, organization_id: balance.organizationId });
    if (!outcomes.some((outcome) => outcome.status === 'fulfilled' && outcome.value)) return false;
    for (const mail of failed) await this.mailer.send(mail);
    return true;
  }
}

function textOf({ organizationName, availableMicro, thresholdMicro }: LowBalance): {
  readonly subject: string;
  readonly text: string;
} {
  return {
    subject: `Low balance of ${quotedName(organizationName)}`,
    text: [
      `${toDollars(availableMicro)} is available to ${quotedName(organizationName)}, which is below your threshold of`,
      `${toDollars(thresholdMicro)}. Requests fail with insufficient_credits when the balance does not cover them.`,
      '',
      'You receive another notice after credit was added and the balance falls below the threshold again.',
      '',
    ].join('\n'),
  };
}

/** To the cent, rounded down. */
function toDollars(micro: Micro): string {
  const cents = micro / 10_000n;
  return `${cents / 100n}.${(cents % 100n).toString().padStart(2, '0')} USD`;
}
