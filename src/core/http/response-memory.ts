import { Inject, Injectable } from '@nestjs/common';
import { APP_CONFIG, type AppConfig } from '../config/app-config';
import { GatewayError } from '../errors/gateway-error';
import { Metrics } from '../observability/metrics/catalogue';
import type { RequestMemory } from '../types/request-context';
import { FairBytes } from '../concurrency/fair-bytes';

/**
 * Counts the memory of responses that are held whole until they are sent: images from providers, and replays. An
 * organization that holds more than is free of `MAX_BUFFERED_BYTES` gets no further such response. Images that are
 * being generated do not count yet, because their sizes are unknown: they can exceed the limit.
 */
@Injectable()
export class ResponseMemory {
  private readonly bytes: FairBytes;

  constructor(@Inject(APP_CONFIG) { http }: Pick<AppConfig, 'http'>, metrics: Metrics) {
    this.bytes = new FairBytes(http.maxBufferedBytes);
    metrics.addSource(() => metrics.responseBytes.of().set(this.bytes.usedBytes));
  }

  /** @throws GatewayError `service_unavailable`, with `retry_after` of one second */
  assertRoom(organizationId: string): void {
    if (this.bytes.hasRoom(organizationId)) return;
    throw new GatewayError('service_unavailable', 'The server is sending too many large responses. Retry shortly.', {
      retryAfterSeconds: 1,
    });
  }

  /**
   * Counts bytes while `work` runs, and then until the memory claim of their request ends. The claim may end first:
   * without an idempotency key it does not outlive the connection, but images are still stored.
   */
  async during<T>(bytes: number, organizationId: string, request: RequestMemory, work: () => Promise<T>): Promise<T> {
    this.bytes.take(organizationId, bytes);
    try {
      return await work();
    } finally {
      request.onEnd(() => this.bytes.release(organizationId, bytes));
    }
  }
}
