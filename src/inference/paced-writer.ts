import type { ServerResponse } from 'node:http';
import type { StreamSink } from '../providers/contract/chat';

/** Writes with back-pressure. A client that reads nothing for `stallMs` is disconnected. */
export class PacedWriter implements StreamSink {
  private stallTimer: NodeJS.Timeout | null = null;
  private waiting: Promise<void> | null = null;

  constructor(
    private readonly response: ServerResponse,
    private readonly stallMs: number,
  ) {}

  write(bytes: string | Buffer): boolean {
    return this.response.destroyed || this.response.write(bytes);
  }

  drained(): Promise<void> {
    if (!this.response.writableNeedDrain || this.response.destroyed) return Promise.resolve();
    this.waiting ??= new Promise((resolve) => {
      const finish = (): void => {
        this.response.off('drain', finish).off('close', finish);
        this.stopStallTimer();
        this.waiting = null;
        resolve();
      };
      this.response.on('drain', finish).on('close', finish);
      this.startStallTimer();
    });
    return this.waiting;
  }

  /** Writes the last bytes and ends the response. */
  end(bytes: string | Buffer): void {
    if (this.response.destroyed) return;
    this.startStallTimer();
    this.response.once('close', () => this.stopStallTimer()).end(bytes);
  }

  private startStallTimer(): void {
    this.stopStallTimer();
    this.stallTimer = setTimeout(() => this.response.destroy(), this.stallMs);
  }

  private stopStallTimer(): void {
    if (this.stallTimer !== null) clearTimeout(this.stallTimer);
    this.stallTimer = null;
  }
}
