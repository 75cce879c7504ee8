import { Inject, Injectable } from '@nestjs/common';
import { FairBytes } from '../../core/concurrency/fair-bytes';
import { APP_CONFIG, type AppConfig } from '../../core/config/app-config';
import { GatewayError } from '../../core/errors/gateway-error';
import type { MemoryClaim } from '../../core/types/request-context';

/**
 * Copies of an image in memory while it is submitted: its bytes, their base64, the text of the request, and the bytes
 * of that text.
 */
const COPIES = 4;

/**
 * Limits the memory for job images in this process to `MAX_BUFFERED_BYTES`. An organization may only claim memory while
 * as much is still free as it would then hold, which leaves room for others. A claim without any others always fits, so
 * no job waits indefinitely.
 */
@Injectable()
export class ImageMemory {
  private readonly limitBytes: number;
  private readonly bytes: FairBytes;

  constructor(@Inject(APP_CONFIG) { http }: Pick<AppConfig, 'http'>) {
    this.limitBytes = http.maxBufferedBytes;
    this.bytes = new FairBytes(this.limitBytes);
  }

  /** For images that are about to be downloaded; the claim grows with each image. */
  claimForDownload(organizationId: string): ImageClaim {
    return new ImageClaim(this.bytes, organizationId);
  }

  /** Claims memory for submitting images of `imageBytes`, before they are read. `null`: they do not fit now. */
  claimForSubmission(organizationId: string, imageBytes: number): ImageClaim | null {
    const claim = new ImageClaim(this.bytes, organizationId);
    // At most half, so that large submissions do not wait until all others have ended.
    return claim.tryGrowBy(Math.min(COPIES * imageBytes, Math.floor(this.limitBytes / 2))) ? claim : null;
  }
}

/** The memory that one step of a job holds. */
class ImageClaim implements MemoryClaim {
  /** Whether the images did not fit. */
  isExhausted = false;
  private bytes = 0;

  constructor(
    private readonly memory: FairBytes,
    private readonly organizationId: string,
  ) {}

  tryGrowBy(bytes: number): boolean {
    const isAlone = this.memory.usedBytes === this.bytes;
    this.isExhausted = !isAlone && !this.memory.tryTake(this.organizationId, bytes);
    if (isAlone) this.memory.take(this.organizationId, bytes);
    if (!this.isExhausted) this.bytes += bytes;
    return !this.isExhausted;
  }

  growBy(bytes: number): void {
    if (!this.tryGrowBy(bytes)) throw new GatewayError('service_unavailable', 'The worker holds too many images.');
  }

  release(): void {
    this.memory.release(this.organizationId, this.bytes);
    this.bytes = 0;
  }
}
