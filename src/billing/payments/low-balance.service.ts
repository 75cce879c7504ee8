import { Injectable, Logger } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Mailer } from '../../core/mail/mailer';
import { quotedName } from '../../core/mail/quoted-name';
import type { Micro } from '../../core/types/micro';

/** An organization below its threshold, and the recipients of the notice. */
export interface LowBalance {
  readonly organizationId: string;
  readonly organizationName: string;
  readonly availableMicro: Micro;
  readonly thresholdMicro: Micro;
  readonly recipients: readonly string[];
}

/**
 * Organizations that were notified, have been credited since, and are above the threshold again. The available amount
 * also rises when a hold ends: without requiring a credit, a balance near the threshold would cause repeated notices.
 */
const REARM = `
  UPDATE billing_settings s SET low_balance_notified_at = NULL, low_balance_claimed_at = NULL
    FROM organization_account a
   WHERE a.organization_id = s.organization_id AND s.low_balance_notified_at IS NOT NULL
     AND a.balance_micro - a.reserved_micro >= s.low_balance_threshold_micro
     AND EXISTS (SELECT FROM ledger_posting l
                  WHERE l.organization_id = s.organization_id AND l.kind IN ('topup', 'adjust')
                    AND l.organization_delta_micro > 0 AND l.created_at > s.low_balance_notified_at)`;

/**
 * Claims one organization for five minutes; an older claim without a result belongs to a crashed process. Locks the
 * account, so that a credit is either in the balance or later than the claim. If a credit is being booked, the next run
 * decides.
 */
const CLAIM = `
  WITH low AS (
    SELECT s.organization_id FROM billing_settings s JOIN organization_account a USING (organization_id)
     WHERE s.low_balance_threshold_micro IS NOT NULL AND s.low_balance_notified_at IS NULL
       AND (s.low_balance_claimed_at IS NULL OR s.low_balance_claimed_at < clock_timestamp() - interval '5 minutes')
       AND a.balance_micro - a.reserved_micro < s.low_balance_threshold_micro
     LIMIT 1 FOR UPDATE OF s, a SKIP LOCKED
  ), claimed AS (
    UPDATE billing_settings s SET low_balance_claimed_at = clock_timestamp()
      FROM low JOIN organization_account a USING (organization_id)
     WHERE s.organization_id = low.organization_id
    RETURNING s.organization_id, s.low_balance_threshold_micro, a.balance_micro - a.reserved_micro AS available)
  SELECT c.organization_id, o.name, c.available::text AS available, c.low_balance_threshold_micro::text AS threshold,
         ARRAY(SELECT u.email FROM organization_member m JOIN user_account u ON u.id = m.user_id
                WHERE m.organization_id = c.organization_id AND m.role IN ('owner', 'admin')
                  AND u.status = 'active' AND u.email_verified_at IS NOT NULL ORDER BY u.email) AS recipients
    FROM claimed c JOIN organization o ON o.id = c.organization_id`;

/** The time at which the balance was read, so that a credit booked while the mail was sent counts as later. */
const MARK_NOTIFIED = `
  UPDATE billing_settings SET low_balance_notified_at = low_balance_claimed_at
   WHERE organization_id = $1 AND low_balance_claimed_at IS NOT NULL`;

interface ClaimedRow {
  readonly organization_id: string;
  readonly name: string;
  readonly available: string;
  readonly threshold: string;
  readonly recipients: string[];
}

/** Times come from the database's clock, as in the ledger. */
@Injectable()
export class LowBalanceRepository {
  constructor(private readonly dataSource: DataSource) {}

  /** Makes organizations that were credited since their last notice eligible for another one. */
  async rearm(): Promise<void> {
    await this.dataSource.query(REARM);
  }

  /** Claims an organization to notify, exclusively; `null`: there is none. */
  async claim(): Promise<LowBalance | null> {
    const [row]: ClaimedRow[] = await this.dataSource.query(CLAIM);
    if (row === undefined) return null;
    return {
      organizationId: row.organization_id,
      organizationName: row.name,
      availableMicro: BigInt(row.available),
      thresholdMicro: BigInt(row.threshold),
      recipients: row.recipients,
    };
  }

  async markNotified(organizationId: string): Promise<void> {
    await this.dataSource.query(MARK_NOTIFIED, [organizationId]);
  }
}

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
   * `false` when the mail server accepted no notice: the organization is claimed again after five minutes. Once one
   * notice is sent, the mailer's queue retries the others.
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
      'You will get another notice only after credit is added and the balance falls below the threshold again.',
      '',
    ].join('\n'),
  };
}

/** To the cent, rounded down. */
function toDollars(micro: Micro): string {
  const cents = micro / 10_000n;
  return `${cents / 100n}.${(cents % 100n).toString().padStart(2, '0')} USD`;
}
