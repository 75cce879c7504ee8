/** What a file of sound turned out to be. */
export interface ProbedAudio {
  /** Seconds of sound that a decoder finds in it; more than 0, at most a day. */
  readonly durationSeconds: number;
  /** Of its container, for example `audio/mpeg`. */
  readonly contentType: string;
  /** Of a name that fits the container, without a dot. */
  readonly extension: string;
}

/** To the thread that reads files: one file. */
export interface ProbeTask {
  readonly bytes: Uint8Array;
}

/** From that thread; `null`: the file is not what it can read. */
export type ProbeOutcome = ProbedAudio | null;
