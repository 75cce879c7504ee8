import type { Clock } from '../../common/clock';
import type { JobWorkRepository } from '../job-work.repository';
import type { JobClaim } from '../media-job.types';

/** A renewal may be late or fail three times before the lease is over. */
const RENEWALS_PER_LEASE = 4;

/** Keeps a claim alive for as long as its job is worked on, and says so when it is lost. */
export class LeaseKeeper {
  private readonly losing = new AbortController();
  private readonly timer: NodeJS.Timeout;
  private heldUntilMs: number;

  constructor(
    private readonly work: Pick<JobWorkRepository, 'renewLease'>,
    private readonly claim: JobClaim,
    private readonly leaseSeconds: number,
    private readonly clock: Clock,
  ) {
    const leaseMs = leaseSeconds * 1_000;
    this.heldUntilMs = clock.monotonic() + leaseMs;
    this.timer = setInterval(() => void this.renew(), leaseMs / RENEWALS_PER_LEASE).unref();
  }

  get lost(): AbortSignal {
    return this.losing.signal;
  }

  end(): void {
    clearInterval(this.timer);
  }

  private async renew(): Promise<void> {
    // What counts is when it was asked for: the answer may have been long under way.
    const askedAtMs = this.clock.monotonic();
    try {
      if (await this.work.renewLease(this.claim, this.leaseSeconds)) {
        this.heldUntilMs = askedAtMs + this.leaseSeconds * 1_000;
        return;
      }
    } catch {
      // The database is away. Nobody can take the job over before it is back, and then the next renewal tells.
      if (this.clock.monotonic() < this.heldUntilMs) return;
    }
    this.end();
    this.losing.abort(new Error('the job belongs to somebody else'));
  }
}
