import { setTimeout as pause } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import { Semaphore } from '../common/semaphore';
import type { Mail } from './mailer';

export interface MailQueueOptions {
  /** Mails that may be on their way; beyond, the newest are lost. */
  readonly maxPending: number;
  /** Pauses before the second attempt, the third and so on. */
  readonly retryDelaysMs: readonly number[];
}

/** Together some 13 minutes: a mail server that restarts loses nobody's mail. */
export const MAIL_QUEUE_OPTIONS: MailQueueOptions = {
  maxPending: 1_000,
  retryDelaysMs: [1_000, 5_000, 30_000, 120_000, 600_000],
};

const CONNECTIONS = 2;

const logger = new Logger('Mail');

/**
 * Mails on their way, in memory only: whoever waits for one that a crash has lost asks for another. Neither recipient nor
 * text is ever logged.
 */
export class MailQueue {
  private readonly connections = new Semaphore(CONNECTIONS);
  private readonly pending = new Set<Promise<void>>();
  private readonly closing = new AbortController();

  constructor(
    private readonly deliver: (mail: Mail) => Promise<void>,
    private readonly options: MailQueueOptions = MAIL_QUEUE_OPTIONS,
  ) {}

  /** Never throws. */
  add(mail: Mail): void {
    if (this.pending.size >= this.options.maxPending) {
      logger.error('A mail is lost: too many wait to be sent.');
      return;
    }
    const delivery = this.deliverPatiently(mail).finally(() => this.pending.delete(delivery));
    this.pending.add(delivery);
  }

  /** Tries what is left once more, without pauses. Resolves when nothing is on its way, after `timeoutMs` at the latest. */
  async close(timeoutMs: number): Promise<void> {
    this.closing.abort();
    const timeout = new AbortController();
    await Promise.race([
      Promise.all(this.pending),
      pause(timeoutMs, undefined, { signal: timeout.signal }).catch(() => undefined),
    ]);
    timeout.abort();
    if (this.pending.size > 0) logger.error(`Mails that were not sent in time are lost: ${this.pending.size}`);
  }

  private async deliverPatiently(mail: Mail): Promise<void> {
    for (let attempt = 0; ; attempt++) {
      try {
        await this.connections.run(() => this.deliver(mail));
        return;
      } catch (error) {
        const delayMs = isRefusal(error) ? undefined : this.options.retryDelaysMs[attempt];
        const isLast = delayMs === undefined || (this.closing.signal.aborted && attempt > 0);
        logger.warn(`A mail could not be sent${isLast ? ', and is lost' : ''}: ${describe(error)}`);
        if (isLast) return;
        // Closing ends the pause, not the attempt after it.
        await pause(delayMs, undefined, { signal: this.closing.signal, ref: false }).catch(() => undefined);
      }
    }
  }
}

/** A reply of 500 and more: the server takes this mail neither now nor later. */
function isRefusal(error: unknown): boolean {
  return error instanceof Error && 'responseCode' in error && Number(error.responseCode) >= 500;
}

/** The words of a mail server repeat the recipient; codes do not. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown failure';
  const code = 'code' in error ? String(error.code) : error.name;
  return 'responseCode' in error ? `${code} ${String(error.responseCode)}` : code;
}
