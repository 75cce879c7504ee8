/** The inspected properties of a provider's file. */
export interface ProbedArtifact {
  readonly type: 'video' | 'audio';
  /** Of its container, for example `video/mp4`. */
  readonly contentType: string;
  /** Displayed pixels; `null` for audio. */
  readonly width: number | null;
  readonly height: number | null;
  /** More than 0, at most a day. */
  readonly durationSeconds: number;
}

/** Request to the reader thread: a file descriptor of this process, open until the reply. */
export interface ArtifactProbeTask {
  readonly descriptor: number;
  readonly sizeBytes: number;
}
