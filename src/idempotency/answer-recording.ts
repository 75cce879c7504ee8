/** What is being recorded in this process, in bytes: one counter for all recordings. */
export interface RecordingBudget {
  bytes: number;
  readonly maxBytes: number;
}

/** Collects the bytes of one streamed answer, until they are too many to be kept. */
export class AnswerRecording {
  private chunks: Buffer[] = [];
  private bytes = 0;
  private hasOverflowed = false;

  constructor(
    private readonly maxBytes: number,
    private readonly budget: RecordingBudget,
  ) {}

  /** Whether the answer can no longer be stored. */
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

  /** All that was recorded, in one piece; `null`: too much. */
  take(): Buffer | null {
    const whole = this.hasOverflowed ? null : Buffer.concat(this.chunks);
    this.discard();
    return whole;
  }

  /** Forgets what was recorded. Safe to repeat. */
  discard(): void {
    this.budget.bytes -= this.bytes;
    this.bytes = 0;
    this.chunks = [];
  }
}
