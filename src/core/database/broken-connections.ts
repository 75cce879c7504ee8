import { Injectable, Logger } from '@nestjs/common';

/**
 * Logs connections that broke while idle; their pools replace them. Stops logging at shutdown: a pool ends before its
 * connections close, so an embedded server that stops next breaks them, as expected.
 */
@Injectable()
export class BrokenConnections {
  private readonly logger = new Logger('Database');
  private poolsAreClosing = false;

  /** A listener for the pools: without one, a broken connection would end the process. */
  readonly report = (error: Error): void => {
    if (this.poolsAreClosing) return;
    this.logger.warn({ event: 'database_connection_broke', message: 'an idle connection broke', err: error });
  };

  close(): void {
    this.poolsAreClosing = true;
  }
}
