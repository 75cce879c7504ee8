/** Bytes recorded in this process: one counter for all recordings. */
export interface RecordingBudget {
  bytes: number;
  readonly maxBytes: number;
}

/** Collects the bytes of one streamed response, up to the storage limit. */
export class ResponseRecording {
  private chunks: Buffer[] = [];
  private bytes = 0;
  private hasOverflowed = false;

  constructor(
    private readonly maxBytes: number,
    private readonly budget: RecordingBudget,
  ) {}

  /** Whether the response can no longer be stored. */
  get overflowed(): boolean {
    return this.hasOverflowed;
  }

  add(frames: string | Buffer): void {
    if (this.hasOverflowed) return;
    const chunk = typeof frames === 'string' ? Buffer.from(frames) : frames;
    this.chunks.push(chunk);
    this.bytes += chunk.length;
    this.budget.bytes += chunk.length;
    if (this.bytes <= this.maxBytes && this.budget.bytes <= this.budget.maxBytes) return;
    this.hasOverflowed = true;
    this.discard();
  }

  /** The recording in one buffer (`null`: too long). It counts against the budget until `release` is called once. */
  take(): { readonly whole: Buffer | null; readonly release: () => void } {
    const whole = this.hasOverflowed ? null : Buffer.concat(this.chunks);
    const { bytes, budget } = this;
    this.bytes = 0;
    this.chunks = [];
    return { whole, release: () => void (budget.bytes -= bytes) };
  }

  /** Drops recorded bytes that were not taken. Idempotent. */
  discard(): void {
    this.budget.bytes -= this.bytes;
    this.bytes = 0;
    this.chunks = [];
  }
}
