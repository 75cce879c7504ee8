import { Inject, Injectable, Logger } from '@nestjs/common';
import { Cron, CronExpression } from '@nestjs/schedule';
import { DataSource } from 'typeorm';
import { CLOCK, type Clock } from '../../core/time/clock';
import { logFailure, scheduled } from '../../core/scheduling/scheduling.module';

/** Maximum age of an account with an unverified e-mail. */
const UNVERIFIED_MS = 30 * 24 * 3_600_000;

/** An account with a valid token was registered again recently. */
const WITHOUT_TOKEN = 'NOT EXISTS (SELECT 1 FROM user_token t WHERE t.user_id = u.id)';

/** Skips accounts that are being registered again, or verified. */
const LOCK_ABANDONED = `
  SELECT id FROM user_account u
   WHERE email_verified_at IS NULL AND status = 'active' AND created_at <= $1 AND ${WITHOUT_TOKEN}
     FOR UPDATE SKIP LOCKED`;
const DELETE_ABANDONED = `DELETE FROM user_account u WHERE id = ANY ($1::uuid[]) AND ${WITHOUT_TOKEN}`;

/**
 * Deletes expired sessions and tokens, and accounts that were never verified: their addresses may belong to people who
 * never signed up.
 */
@Injectable()
export class AccountSweeperService {
  private readonly logger = new Logger(AccountSweeperService.name);

  constructor(
    private readonly dataSource: DataSource,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  @Cron(CronExpression.EVERY_HOUR, scheduled('accounts'))
  sweepScheduled(): Promise<void> {
    const failure = {
      event: 'account_sweep_failed',
      message: 'deleting expired sessions, tokens and accounts failed',
    };
    return logFailure(this.logger, failure, () => this.sweep());
  }

  async sweep(): Promise<void> {
    const nowMs = this.clock.now();
    const now = new Date(nowMs);
    await this.dataSource.query('DELETE FROM user_session WHERE expires_at <= $1', [now]);
    await this.dataSource.query('DELETE FROM user_token WHERE expires_at <= $1', [now]);
    await this.dataSource.transaction(async (manager) => {
      const abandoned = await manager.query<{ id: string }[]>(LOCK_ABANDONED, [new Date(nowMs - UNVERIFIED_MS)]);
      // Another statement: only a new snapshot shows the token of a registration that committed before the lock.
      await manager.query(DELETE_ABANDONED, [abandoned.map(({ id }) => id)]);
    });
  }
}
