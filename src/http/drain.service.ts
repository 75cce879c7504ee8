import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { CLOCK, type Clock } from '../common/clock';
import { InFlight } from '../common/in-flight';
import { MeteringService } from '../inference/metering.service';

/**
 * The way out of service. While accepted requests are finished the server goes on listening: a probe that found the
 * port closed could not tell a stop from a crash, and whoever sends a request gets an answer that can be retried.
 */
@Injectable()
export class DrainService implements OnModuleInit {
  private readonly answering = new InFlight();
  private hasBegun = false;

  constructor(
    private readonly host: HttpAdapterHost,
    private readonly metering: MeteringService,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** Whether new requests are refused. */
  get draining(): boolean {
    return this.hasBegun;
  }

  /** How many accepted requests are being answered. */
  get inFlight(): number {
    return this.answering.size;
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

  /**
   * Refuses new requests from now on. Resolves when the accepted ones are answered, and those finished whose clients have
   * left and will come back with their key; `false`: not all of them in time.
   */
  async drain(timeoutMs: number): Promise<boolean> {
    this.hasBegun = true;
    const deadlineMs = this.clock.monotonic() + timeoutMs;
    const answered = await this.answering.whenIdle(timeoutMs);
    return answered && this.metering.whenIdle(Math.max(0, deadlineMs - this.clock.monotonic()));
  }
}
