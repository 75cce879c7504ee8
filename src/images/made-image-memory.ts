import { Inject, Injectable } from '@nestjs/common';
import { FairBytes } from '../core/concurrency/fair-bytes';
import { APP_CONFIG, type AppConfig } from '../core/config/app-config';
import { GatewayError } from '../core/errors/gateway-error';
import { Metrics } from '../core/observability/metrics/catalogue';
import type { RequestMemory } from '../core/types/request-context';

/** An image and its base64 are in memory until the response is sent. */
const COPIES = 1 + 4 / 3;

/**
 * Counts the memory of images from providers. While an organization holds more than is free of `MAX_BUFFERED_BYTES`, its new
 * requests are refused, before a provider makes and bills their images. Images that are being made are not counted, because
 * their sizes are unknown: they can exceed the limit.
 */
@Injectable()
export class MadeImageMemory {
  private readonly bytes: FairBytes;

  constructor(@Inject(APP_CONFIG) { http }: Pick<AppConfig, 'http'>, metrics: Metrics) {
    this.bytes = new FairBytes(http.maxBufferedBytes);
    metrics.addSource(() => metrics.imageBytes.of().set(this.bytes.usedBytes));
  }

  /** @throws GatewayError `service_unavailable`, with `retry_after` of one second */
  assertRoom(organizationId: string): void {
    if (this.bytes.hasRoom(organizationId)) return;
    throw new GatewayError('service_unavailable', 'The server is sending too many images. Retry shortly.', {
      retryAfterSeconds: 1,
    });
  }

  /**
   * Counts images while `deliver` runs, and then until the memory of their request ends. That may end first: without an
   * idempotency key it does not outlive the connection, but images are still stored.
   */
  async during<T>(
    imageBytes: number,
    organizationId: string,
    request: RequestMemory,
    deliver: () => Promise<T>,
  ): Promise<T> {
    const bytes = Math.ceil(COPIES * imageBytes);
    this.bytes.take(organizationId, bytes);
    try {
      return await deliver();
    } finally {
      request.onEnd(() => this.bytes.release(organizationId, bytes));
    }
  }
}
