import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import type { ArtifactProbeTask, ProbedArtifact } from './artifact-probe.types';
import { ProbeThreads } from './probe-threads';

/** For the longest of them, on a busy machine. */
const PROBE_TIMEOUT_MS = 20_000;

/** Looks at the files that providers have made: what they are is what they say, not what anybody says of them. */
@Injectable()
export class ArtifactProbe implements OnModuleDestroy {
  private readonly threads = new ProbeThreads<ProbedArtifact>(PROBE_TIMEOUT_MS, './artifact-worker');

  /**
   * Reads video in mp4, mov and webm, and sound in mp3, wav, flac, ogg, m4a and aac. `null`: it is none of them, damaged,
   * longer than a day, or cannot be read in 20 seconds.
   */
  probe({ descriptor, sizeBytes }: ArtifactProbeTask): Promise<ProbedArtifact | null> {
    return this.threads.run({ descriptor, sizeBytes } satisfies ArtifactProbeTask);
  }

  onModuleDestroy(): Promise<void> {
    return this.threads.close();
  }
}
