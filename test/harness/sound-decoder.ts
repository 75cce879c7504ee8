/** A real decoder, if one is installed: a provider would transcribe the audio that it plays. */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const DECODED_RATE_HZ = 8_000;

export const hasDecoder = spawnSync('ffmpeg', ['-version']).status === 0;

/** Codings and containers as `ffmpeg` writes them, by file name. */
const RECORDINGS = {
  'aac.m4a': '-ar 22050 -c:a aac',
  'fragments.mp4': '-ar 22050 -c:a aac -movflags frag_keyframe+empty_moov -frag_duration 500000',
  'aac.mov': '-ar 22050 -ac 2 -c:a aac',
  'aac.mkv': '-ar 22050 -c:a aac',
  'adts.aac': '-ar 22050 -c:a aac',
  'alac.m4a': '-ar 16000 -c:a alac',
  'opus.ogg': '-ar 48000 -c:a libopus -b:a 32k',
  'opus.webm': '-ar 48000 -c:a libopus -b:a 32k',
  'surround.ogg': '-ar 48000 -ac 6 -c:a libopus -b:a 96k',
  'vorbis.ogg': '-ar 22050 -c:a libvorbis',
  'vorbis.webm': '-ar 22050 -c:a libvorbis',
  'layer3.mp3': '-ar 22050 -c:a libmp3lame -b:a 32k',
  'layer2.mp2': '-ar 22050 -c:a mp2 -b:a 32k',
  'program.mpg': '-ar 22050 -c:a mp2 -b:a 32k -f mpeg',
  'frames.flac': '-ar 16000 -c:a flac',
  'flac.ogg': '-ar 16000 -c:a flac',
  'pcm.wav': '-ar 8000 -c:a pcm_s16le',
  'mulaw.wav': '-ar 8000 -c:a pcm_mulaw',
  'pcm.mov': '-ar 8000 -c:a pcm_s16be',
} as const;
export type RecordingName = keyof typeof RECORDINGS;
export const RECORDING_NAMES = Object.keys(RECORDINGS) as readonly RecordingName[];

/** A chirp of this duration in seconds, in every coding and container, made by one call. */
export function makeRecordings(seconds: number): Readonly<Record<RecordingName, Buffer>> {
  return inTemporaryFolder((folder) => {
    const source = `aevalsrc=0.3*sin(440*t*(1+t))+0.05*random(0):s=48000:d=${seconds}`;
    const outputs = Object.entries(RECORDINGS).flatMap(([name, options]) => [
      ...options.split(' '),
      join(folder, name),
    ]);
    execFileSync('ffmpeg', ['-v', 'error', '-f', 'lavfi', '-i', source, ...outputs]);
    const made = RECORDING_NAMES.map((name) => [name, readFileSync(join(folder, name))]);
    return Object.fromEntries(made) as Record<RecordingName, Buffer>;
  });
}

export interface Decoded {
  readonly seconds: number;
  /** Whether the decoder reported an error. */
  readonly isDamaged: boolean;
}

export function decode(bytes: Uint8Array, extension: string): Decoded {
  return inTemporaryFolder((folder) => {
    const file = join(folder, `audio.${extension}`);
    writeFileSync(file, bytes);
    const format = ['-f', 's16le', '-ac', '1', '-ar', String(DECODED_RATE_HZ)];
    const options = ['-v', 'error', '-i', file, '-map', '0:a:0', ...format, 'pipe:1'];
    const { stdout, stderr, status } = spawnSync('ffmpeg', options, { maxBuffer: 2 ** 30 });
    return { seconds: stdout.length / (2 * DECODED_RATE_HZ), isDamaged: status !== 0 || stderr.length > 0 };
  });
}

function inTemporaryFolder<Result>(use: (folder: string) => Result): Result {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-sound-'));
  try {
    return use(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
