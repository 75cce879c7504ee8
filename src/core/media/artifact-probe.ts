import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { ProbeThreads } from './probe-threads';

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

/** Enough for the longest file on a busy machine. */
const PROBE_TIMEOUT_MS = 20_000;

/** Inspects the files of providers: their type is detected from their bytes, not from headers. */
@Injectable()
export class ArtifactProbe implements OnModuleDestroy {
  private readonly threads = new ProbeThreads<ProbedArtifact>(PROBE_TIMEOUT_MS, './artifact-worker');

  /**
   * Reads video in mp4, mov and webm, and audio in mp3, wav, flac, ogg, m4a and aac. `null`: the file is none of them,
   * damaged, longer than a day, or cannot be read in 20 seconds.
   */
  probe({ descriptor, sizeBytes }: ArtifactProbeTask): Promise<ProbedArtifact | null> {
    return this.threads.run({ descriptor, sizeBytes } satisfies ArtifactProbeTask);
  }

  onModuleDestroy(): Promise<void> {
    return this.threads.close();
  }
}
