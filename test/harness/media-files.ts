/** Playable results of jobs. */
import { makeAudio } from '../../src/providers/vendors/mock/media-files';
import { makeVideo } from '../../src/providers/vendors/mock/media-files';

/** An MP4 of 480 x 480 pixels, two seconds long by default. */
export function makeTestVideo({ seconds = 2, audio = false } = {}): Promise<Buffer> {
  return makeVideo({ prompt: '', seconds, resolution: '480p', aspectRatio: '1:1', audio, seed: 0 });
}

/** Two seconds of music. */
export function makeTestAudio(format: 'mp3' | 'wav' | 'flac'): Promise<Buffer> {
  return makeAudio({ kind: 'music', format, seconds: 2, sampleRate: 44_100, seed: 0, transcript: '' });
}
