/** What a file that a provider has made turned out to be. */
export interface ProbedArtifact {
  readonly type: 'video' | 'audio';
  /** Of its container, for example `video/mp4`. */
  readonly contentType: string;
  /** Pixels as a player shows them; `null` for audio. */
  readonly width: number | null;
  readonly height: number | null;
  /** More than 0, at most a day. */
  readonly durationSeconds: number;
}

/** To the thread that reads files: an open file of this process, which stays open until the answer. */
export interface ArtifactProbeTask {
  readonly descriptor: number;
  readonly sizeBytes: number;
}
