import { read } from 'node:fs';
import { promisify } from 'node:util';
import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { GatewayError } from '../errors/gateway-error';
import { MediaProcesses, type ReadRange } from './media-processes';

const readFile = promisify(read);

/** Maximum time of a recording in its process, which stops after 15 seconds of CPU time if it can. */
const AUDIO_TIMEOUT_MS = 30_000;
const MAX_PROCESSES = 2;

/** Measures recordings and writes the measured packets to a file for providers. */
@Injectable()
export class AudioProbe implements OnModuleDestroy {
  private readonly processes = new MediaProcesses<ProbedAudio>('./audio-worker', AUDIO_TIMEOUT_MS, MAX_PROCESSES);

  /**
   * Reads mp3 (mpga, mpeg), mp4, m4a, mov, webm, mkv, ogg, wav, flac and aac, regardless of file names, and writes the
   * counted packets to a new file: m4a for AAC-LC and ALAC, ogg for Opus and Vorbis, wav for PCM, A-law and mu-law, and
   * bare frames for MPEG audio and FLAC. The new file contains nothing else of the upload.
   * @param ownerId the organization that owns the file: a single one never occupies all processes.
   * @param signal withdraws the file while it waits for a process
   * @throws GatewayError `validation_failed` with `param` when the file has no audio of these codings, is damaged or
   *   ambiguous, takes more than 15 seconds of work, or is longer than a day; the reason of the signal.
   */
  async probe(bytes: Buffer, param: string, ownerId: string, signal?: AbortSignal): Promise<ProbedAudio> {
    const outcome = await this.processes.run({ bytes } satisfies AudioProbeTask, ownerId, { signal });
    if (outcome !== null) return outcome;
    const message = `${param} must be one recording: flac, mp3, mp4, mpeg, mpga, m4a, mov, ogg, wav, webm, mkv or aac.`;
    throw new GatewayError('validation_failed', message, { param });
  }

  onModuleDestroy(): Promise<void> {
    return this.processes.close();
  }
}

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

/** Request to the process that measures recordings. */
export interface AudioProbeTask {
  readonly bytes: Uint8Array;
}

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

/** Request to the process that reads artifacts. The process asks for further bytes that it needs. */
export interface ArtifactProbeTask {
  readonly sizeBytes: number;
  /** The beginning of the file, which usually suffices: each other range costs two messages. */
  readonly head: Uint8Array;
}

/** A file that stays open until the reply. */
interface OpenFile {
  readonly descriptor: number;
  readonly sizeBytes: number;
}

/** Sent with the task. */
const HEAD_BYTES = 64 * 1024;

/** Enough for the longest file on a busy machine. */
const ARTIFACT_TIMEOUT_MS = 20_000;

/** Inspects the files of providers: their type is detected from their bytes, not from headers. */
@Injectable()
export class ArtifactProbe implements OnModuleDestroy {
  private readonly processes = new MediaProcesses<ProbedArtifact>(
    './artifact-worker',
    ARTIFACT_TIMEOUT_MS,
    MAX_PROCESSES,
  );

  /**
   * Reads video in mp4, mov and webm, and audio in mp3, wav, flac, ogg, m4a and aac. `null`: the file is none of them,
   * damaged, longer than a day, or cannot be read in 20 seconds.
   */
  async probe({ descriptor, sizeBytes }: OpenFile): Promise<ProbedArtifact | null> {
    const readRange: ReadRange = async (start, end) => {
      const bytes = Buffer.allocUnsafe(Math.max(0, Math.min(end, sizeBytes) - start));
      const { bytesRead } = await readFile(descriptor, bytes, 0, bytes.length, start);
      return bytes.subarray(0, bytesRead);
    };
    // Reports no error here: the process then requests this range itself and gets the error.
    const head = await readRange(0, HEAD_BYTES).catch(() => new Uint8Array());
    return this.processes.run({ sizeBytes, head } satisfies ArtifactProbeTask, null, { readRange });
  }

  onModuleDestroy(): Promise<void> {
    return this.processes.close();
  }
}
