import { setTimeout as pause } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import pLimit from 'p-limit';
import type { Mail } from './mailer';

export interface MailQueueOptions {
  /** Maximum number of pending mails; further ones are dropped. */
  readonly maxPending: number;
  /** Pauses before the second, third and further attempts. */
  readonly retryDelaysMs: readonly number[];
}

/** About 13 minutes in total, so that a restart of the mail server loses no mail. */
export const MAIL_QUEUE_OPTIONS: MailQueueOptions = {
  maxPending: 1_000,
  retryDelaysMs: [1_000, 5_000, 30_000, 120_000, 600_000],
};

const CONNECTIONS = 2;

const logger = new Logger('Mail');

/**
 * Pending mails, in memory only: a crash loses them, and users request another. Neither recipient nor text is ever
 * logged.
 */
export class MailQueue {
  private readonly limitConnections = pLimit(CONNECTIONS);
  private readonly pending = new Set<Promise<void>>();
  private readonly closing = new AbortController();

  constructor(
    private readonly transmit: (mail: Mail) => Promise<void>,
    private readonly options: MailQueueOptions = MAIL_QUEUE_OPTIONS,
  ) {}

  /** Never throws. */
  add(mail: Mail): void {
    if (this.pending.size >= this.options.maxPending) {
      logger.error({ event: 'mail_dropped', message: 'a mail is lost: the queue is full' });
      return;
    }
    const delivery = this.deliverPatiently(mail).finally(() => this.pending.delete(delivery));
    this.pending.add(delivery);
  }

  /**
   * One attempt, without the queue. `false`: the server rejects the mail permanently.
   * @throws any other failure.
   */
  async deliver(mail: Mail): Promise<boolean> {
    try {
      await this.limitConnections(() => this.transmit(mail));
      return true;
    } catch (error) {
      if (isRefusal(error)) return false;
      throw error;
    }
  }

  /** Retries the pending mails once, without pauses. Resolves when none is pending, after `timeoutMs` at the latest. */
  async close(timeoutMs: number): Promise<void> {
    this.closing.abort();
    const timeout = new AbortController();
    await Promise.race([
      Promise.all(this.pending),
      pause(timeoutMs, undefined, { signal: timeout.signal }).catch(() => undefined),
    ]);
    timeout.abort();
    if (this.pending.size > 0)
      logger.error({
        event: 'mails_dropped_at_shutdown',
        message: `mails lost because they were not sent in time: ${this.pending.size}`,
      });
  }

  private async deliverPatiently(mail: Mail): Promise<void> {
    for (let attempt = 0; ; attempt++) {
      try {
        await this.limitConnections(() => this.transmit(mail));
        return;
      } catch (error) {
        const delayMs = isRefusal(error) ? undefined : this.options.retryDelaysMs[attempt];
        const isLast = delayMs === undefined || (this.closing.signal.aborted && attempt > 0);
        logger.warn({
          event: 'mail_send_failed',
          message: `a mail could not be sent${isLast ? ', and is lost' : ''}: ${describe(error)}`,
        });
        if (isLast) return;
        // Closing ends the pause, not the following attempt.
        await pause(delayMs, undefined, { signal: this.closing.signal, ref: false }).catch(() => undefined);
      }
    }
  }
}

/** A reply of 500 or more is permanent. */
function isRefusal(error: unknown): boolean {
  return error instanceof Error && 'responseCode' in error && Number(error.responseCode) >= 500;
}

/** Messages of mail servers quote the recipient; codes do not. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown failure';
  const code = 'code' in error ? String(error.code) : error.name;
  return 'responseCode' in error ? `${code} ${String(error.responseCode)}` : code;
}
