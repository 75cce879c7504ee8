/** A rewritten audio file that contains only the measured audio. */
export interface ProbedAudio {
  /** Decoded duration of `bytes` in seconds; more than 0, at most a day. */
  readonly durationSeconds: number;
  /** Of its container, for example `audio/mpeg`. */
  readonly contentType: string;
  /** File extension of the container, without a dot. */
  readonly extension: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** Request to the reader thread: one file. */
export interface ProbeTask {
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** Reply of that thread; `null`: the file is not readable. */
export type ProbeOutcome = ProbedAudio | null;
