import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { GatewayError } from '../common/errors/gateway-error';
import type { ProbedAudio } from './audio-probe.types';
import { ProbeThreads } from './probe-threads';

/** Measures files of sound, which the price of a transcription depends on. */
@Injectable()
export class AudioProbe implements OnModuleDestroy {
  private readonly threads = new ProbeThreads();

  /**
   * Reads mp3, mp4 and m4a, wav, flac, ogg, webm and aac, whatever their names say, packet by packet: what headers say of
   * their duration is not believed. Recordings that follow each other in one file all count (mp3, aac, flac), or are refused
   * where readers disagree about them (ogg, webm, wav, edits and fragments of mp4). Vorbis is read in ogg only.
   * @param ownerId the organization whose file it is; when files wait for each other, organizations take turns.
   * @throws GatewayError `validation_failed` with `param` when there is no sound in the file, it takes more than two
   * seconds of work to read, or is longer than a day.
   */
  async probe(bytes: Buffer, param: string, ownerId: string): Promise<ProbedAudio> {
    const outcome = await this.threads.probe(bytes, ownerId);
    if (outcome !== null) return outcome;
    const message = `${param} must be a file of sound: mp3, mp4, m4a, wav, flac, ogg, webm or aac.`;
    throw new GatewayError('validation_failed', message, { param });
  }

  onModuleDestroy(): Promise<void> {
    return this.threads.close();
  }
}
