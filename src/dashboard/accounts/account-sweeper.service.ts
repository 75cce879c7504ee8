import { Logger, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import type { Clock } from '../../core/time/clock';
import { PeriodicTask } from '../../core/time/periodic-task';

const PAUSE_MS = 3_600_000;
/** Maximum age of an account with an unverified e-mail. */
const UNVERIFIED_MS = 30 * 24 * 3_600_000;

/**
 * Deletes expired sessions and tokens, and accounts that were never verified: data that strangers have entered about
 * another person is not kept.
 */
export class AccountSweeperService implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger(AccountSweeperService.name);
  private readonly task = new PeriodicTask({
    pauseMs: () => PAUSE_MS,
    run: () => this.sweep(),
    onError: (error) =>
      this.logger.warn({
        event: 'account_sweep_failed',
        message: 'deleting expired sessions, tokens and accounts failed',
        err: error,
      }),
  });

  constructor(
    private readonly dataSource: DataSource,
    private readonly clock: Clock,
  ) {}

  async sweep(): Promise<void> {
    const nowMs = this.clock.now();
    const now = new Date(nowMs);
    await this.dataSource.query('DELETE FROM user_session WHERE expires_at <= $1', [now]);
    await this.dataSource.query('DELETE FROM user_token WHERE expires_at <= $1', [now]);
    await this.dataSource.query(
      // An account with a valid token was registered again recently.
      `DELETE FROM user_account u WHERE email_verified_at IS NULL AND status = 'active' AND created_at <= $1
          AND NOT EXISTS (SELECT 1 FROM user_token t WHERE t.user_id = u.id)`,
      [new Date(nowMs - UNVERIFIED_MS)],
    );
  }

  onApplicationBootstrap(): void {
    void this.task.start();
  }

  onApplicationShutdown(): Promise<void> {
    return this.task.stop();
  }
}
