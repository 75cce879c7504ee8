import { Injectable, Logger } from '@nestjs/common';

/**
 * Logs connections that broke while idle; their pools replace them. At shutdown a pool ends before its connections are
 * closed, and an embedded server that stops next breaks them, which is expected.
 */
@Injectable()
export class BrokenConnections {
  private readonly logger = new Logger('Database');
  private poolsAreClosing = false;

  /** The pools need a listener: without one a broken connection would end the process. */
  readonly report = (error: Error): void => {
    if (this.poolsAreClosing) return;
    this.logger.warn({ event: 'database_connection_broke', message: 'an idle connection broke', err: error });
  };

  close(): void {
    this.poolsAreClosing = true;
  }
}
