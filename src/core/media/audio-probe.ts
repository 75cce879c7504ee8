import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { GatewayError } from '../errors/gateway-error';
import { type ProbedAudio, ProbeThreads } from './probe-threads';

/** Measures recordings and writes the measured packets to a file for providers. */
@Injectable()
export class AudioProbe implements OnModuleDestroy {
  private readonly threads = new ProbeThreads();

  /**
   * Reads mp3 (mpga, mpeg), mp4, m4a, mov, webm, mkv, ogg, wav, flac and aac, regardless of file names, and writes the
   * counted packets to a new file: m4a for AAC-LC and ALAC, ogg for Opus and Vorbis, wav for PCM, A-law and mu-law, and
   * bare frames for MPEG audio and FLAC. It contains nothing else of the upload.
   * @param ownerId the organization that owns the file: a single one never occupies all threads.
   * @throws GatewayError `validation_failed` with `param` when the file has no audio of these codings, is damaged or
   *   ambiguous, takes more than 15 seconds of work, or is longer than a day.
   */
  async probe(bytes: Buffer, param: string, ownerId: string): Promise<ProbedAudio> {
    const outcome = await this.threads.probe(bytes, ownerId);
    if (outcome !== null) return outcome;
    const message = `${param} must be one recording: flac, mp3, mp4, mpeg, mpga, m4a, mov, ogg, wav, webm, mkv or aac.`;
    throw new GatewayError('validation_failed', message, { param });
  }

  onModuleDestroy(): Promise<void> {
    return this.threads.close();
  }
}
