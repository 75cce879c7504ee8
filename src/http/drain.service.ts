import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { CLOCK, type Clock } from '../core/time/clock';
import { InFlight } from '../core/concurrency/in-flight';
import { RequestAdmission } from '../inference/request-reservation';

/**
 * Drains the process on shutdown. The server keeps listening while accepted requests finish: a closed port would look
 * like a crash to probes, and new requests get a retryable error.
 */
@Injectable()
export class DrainService implements OnModuleInit {
  private readonly answering = new InFlight();
  private hasBegun = false;

  constructor(
    private readonly host: HttpAdapterHost,
    private readonly admission: RequestAdmission,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** Whether new requests are refused. */
  get draining(): boolean {
    return this.hasBegun;
  }

  /** Number of accepted requests in flight. */
  get inFlight(): number {
    return this.answering.size;
  }

  onModuleInit(): void {
    const server: Server = this.host.httpAdapter.getHttpServer();
    const end = (): void => this.answering.end();
    server.on('request', (_request: IncomingMessage, response: ServerResponse) => {
      if (this.hasBegun) return;
      this.answering.begin();
      response.on('close', end);
    });
  }

  /**
   * Refuses new requests. Resolves when all accepted requests are answered, including those of disconnected clients
   * that may retry with their key; `false`: the deadline passed first.
   */
  async drain(timeoutMs: number): Promise<boolean> {
    this.hasBegun = true;
    const deadlineMs = this.clock.monotonic() + timeoutMs;
    const answered = await this.answering.whenIdle(timeoutMs);
    return answered && this.admission.whenIdle(Math.max(0, deadlineMs - this.clock.monotonic()));
  }
}
