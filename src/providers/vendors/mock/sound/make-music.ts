import { hashText } from '../random';
import { encodeWhole } from './encode-audio';
import { Tune } from './tune';

/** A requested song. */
export interface MusicWish {
  readonly prompt: string;
  readonly seconds: number;
  readonly format: 'mp3' | 'wav' | 'flac';
  /** Hertz, a rate that `canMakeMusic` accepts; `null`: 44,100. */
  readonly sampleRate: number | null;
  readonly seed: number;
}

export interface Music {
  readonly bytes: Buffer;
  readonly contentType: 'audio/mpeg' | 'audio/wav' | 'audio/flac';
}

const DEFAULT_RATE = 44_100;
const CONTENT_TYPES = { mp3: 'audio/mpeg', wav: 'audio/wav', flac: 'audio/flac' } as const;

const RATE_RANGE = { least: 8_000, most: 192_000 } as const;
/** The rates of the MP3 standard. */
const MP3_RATES: ReadonlySet<number> = new Set([8_000, 11_025, 12_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000]);

export function canMakeMusic({ format, sampleRate }: Pick<MusicWish, 'format' | 'sampleRate'>): boolean {
  if (sampleRate === null) return true;
  if (format === 'mp3') return MP3_RATES.has(sampleRate);
  return Number.isInteger(sampleRate) && sampleRate >= RATE_RANGE.least && sampleRate <= RATE_RANGE.most;
}

/** A playable file, the same for the same wish. */
export async function makeMusic({ prompt, seconds, format, sampleRate, seed }: MusicWish): Promise<Music> {
  const rate = sampleRate ?? DEFAULT_RATE;
  const tune = new Tune(hashText(prompt) ^ seed, seconds, rate);
  const recording = {
    sampleRate: rate,
    totalFrames: tune.totalFrames,
    transcript: '',
    read: (count: number) => tune.read(count),
  };
  return { bytes: await encodeWhole(recording, format), contentType: CONTENT_TYPES[format] };
}
