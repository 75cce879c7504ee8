import { Inject, Injectable } from '@nestjs/common';
import { FairBytes } from '../../core/concurrency/fair-bytes';
import { APP_CONFIG, type AppConfig } from '../../core/config/app-config';
import { GatewayError } from '../../core/errors/gateway-error';
import type { MemoryClaim } from '../../core/types/request-context';

/**
 * What an image takes while it is submitted: its bytes, their base64, the text of the request, and the bytes of that.
 */
const COPIES = 4;

/**
 * Limits the memory for images of jobs in this process to `MAX_BUFFERED_BYTES`. An organization may claim only while as
 * much is free as it then holds, so that it leaves room for others. A claim that is alone always fits: no job waits for
 * good.
 */
@Injectable()
export class ImageMemory {
  private readonly limitBytes: number;
  private readonly bytes: FairBytes;

  constructor(@Inject(APP_CONFIG) { http }: Pick<AppConfig, 'http'>) {
    this.limitBytes = http.maxBufferedBytes;
    this.bytes = new FairBytes(this.limitBytes);
  }

  /** For images that are about to be downloaded: the claim grows with them. */
  claimForDownload(organizationId: string): ImageClaim {
    return new ImageClaim(this.bytes, organizationId);
  }

  /** For a submission with images of `imageBytes`, from before they are read. `null`: they do not fit now. */
  claimForSubmission(organizationId: string, imageBytes: number): ImageClaim | null {
    const claim = new ImageClaim(this.bytes, organizationId);
    // At most half, so that large submissions do not wait until all others have ended.
    return claim.tryGrowBy(Math.min(COPIES * imageBytes, Math.floor(this.limitBytes / 2))) ? claim : null;
  }
}

/** What one step of a job holds. */
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
