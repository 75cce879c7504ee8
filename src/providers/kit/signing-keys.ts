/** Public keys of vendors that sign their reports about jobs. */
import { type Clock, systemClock } from '../../core/time/clock';
import type { ReportCall } from '../contract/media-job';

/** The longest time that fal allows keys to be cached (https://docs.fal.ai/model-endpoints/webhooks). */
const MAX_AGE_MS = 24 * 3_600_000;
/** Minimum time between two fetches for signatures that no known key made, since these may be forged. */
const MIN_AGE_MS = 60_000;
/** Minimum time between a failed fetch and the next one, so that a flood of reports does not reach the vendor. */
const FAILURE_PAUSE_MS = 10_000;
const TIMESTAMP = /^\d{1,12}$/;
/** The tolerance of fal and of the Standard Webhooks specification. */
const TOLERANCE_SECONDS = 300;

export class SigningKeys<Key> {
  private keys: readonly Key[] = [];
  private fetchedAtMs = -Infinity;
  /** The fetch that is under way or has failed; `null`: the last one succeeded. */
  private fetching: Promise<void> | null = null;
  /** `Infinity` while a fetch is under way. */
  private failedAtMs = Infinity;

  /** @param fetchKeys resolves with at least one key */
  constructor(
    private readonly fetchKeys: (call: ReportCall) => Promise<readonly Key[]>,
    private readonly clock: Clock = systemClock,
  ) {}

  /**
   * Whether any key passes the test. Fetches the keys if they are missing or old, or if none passes: the vendor may
   * have replaced them.
   * @throws any error of the fetch, or of the last one if it has just failed
   */
  async some(isValid: (key: Key) => boolean, call: ReportCall): Promise<boolean> {
    if (this.ageMs() < MAX_AGE_MS && this.keys.some(isValid)) return true;
    if (this.ageMs() < MIN_AGE_MS) return false;
    await this.refresh(call);
    return this.keys.some(isValid);
  }

  private ageMs(): number {
    return this.clock.monotonic() - this.fetchedAtMs;
  }

  /** All reports that wait for keys share one fetch, and its failure with those of the next seconds. */
  private refresh(call: ReportCall): Promise<void> {
    if (this.fetching === null || this.clock.monotonic() - this.failedAtMs >= FAILURE_PAUSE_MS) {
      this.failedAtMs = Infinity;
      this.fetching = this.fetch(call);
    }
    return this.fetching;
  }

  private async fetch(call: ReportCall): Promise<void> {
    try {
      this.keys = await this.fetchKeys(call);
      this.fetchedAtMs = this.clock.monotonic();
      this.fetching = null;
    } catch (error) {
      this.failedAtMs = this.clock.monotonic();
      throw error;
    }
  }
}

/** Whether a report was sent within five minutes of now. @param timestamp Unix seconds */
export function isRecent(timestamp: string, { now }: Clock): boolean {
  return TIMESTAMP.test(timestamp) && Math.abs(now() / 1_000 - Number(timestamp)) <= TOLERANCE_SECONDS;
}
