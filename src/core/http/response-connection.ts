import type { ServerResponse } from 'node:http';
import type { ClientConnection } from '../types/request-context';

/** The connection of the client, as seen by the response to it. */
export class ResponseConnection implements ClientConnection {
  constructor(private readonly response: ServerResponse) {}

  get closed(): boolean {
    return this.response.destroyed;
  }

  onDisconnect(listener: () => void): void {
    this.response.on('close', () => {
      if (!this.response.writableFinished) listener();
    });
  }
}
