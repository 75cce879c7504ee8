import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { InFlight } from '../common/in-flight';

/**
 * The way out of service. While accepted requests are finished the server goes on listening: a probe that found the
 * port closed could not tell a stop from a crash, and whoever sends a request gets an answer that can be retried.
 */
@Injectable()
export class DrainService implements OnModuleInit {
  private readonly answering = new InFlight();
  private hasBegun = false;

  constructor(private readonly host: HttpAdapterHost) {}

  /** Whether new requests are refused. */
  get draining(): boolean {
    return this.hasBegun;
  }

  onModuleInit(): void {
    const server: Server = this.host.httpAdapter.getHttpServer();
    const end = (): void => this.answering.end();
    server.on('request', (_request: IncomingMessage, response: ServerResponse) => {
      if (this.hasBegun) return;
      this.answering.begin();
      response.once('close', end);
    });
  }

  /** Refuses new requests from now on. Resolves when the accepted ones are answered; `false`: not all of them in time. */
  drain(timeoutMs: number): Promise<boolean> {
    this.hasBegun = true;
    return this.answering.whenIdle(timeoutMs);
  }
}
