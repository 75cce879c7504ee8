import { Logger, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import type { Clock } from '../common/clock';
import { PeriodicTask } from '../common/periodic-task';

const PAUSE_MS = 3_600_000;
/** How long an account waits for its e-mail to be verified. */
const UNVERIFIED_MS = 30 * 24 * 3_600_000;

/**
 * Deletes sessions and tokens whose time is over, which open nothing any more, and accounts that nobody has ever verified:
 * what strangers have entered about somebody is not kept for ever.
 */
export class AccountSweeperService implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger(AccountSweeperService.name);
  private readonly task = new PeriodicTask({
    pauseMs: () => PAUSE_MS,
    run: () => this.sweep(),
    onError: (error) => this.logger.warn(`What is over of accounts cannot be deleted at the moment: ${String(error)}`),
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
      // Who has registered anew has a token that is good.
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
