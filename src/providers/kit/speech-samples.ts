/** Reads samples from vendors' audio while it arrives. */
import { readWavFormat } from '../../core/media/container-readers';
import { ProviderError } from '../contract/provider-error';
import { Resampler } from './resampler';

/** The sample rate of the contract's PCM, which is mono and signed 16-bit little-endian. */
export const SPEECH_RATE_HZ = 24_000;
const SAMPLE_BYTES = 2;

/** Yields mono samples at {@link SPEECH_RATE_HZ}. */
export interface SampleReader {
  /** Returns the samples that are complete. @throws ProviderError */
  read(bytes: Buffer): Int16Array;
  /** Returns the remaining samples. @throws ProviderError */
  end(): Int16Array;
}

/** Supported sample rates; each needs at most 480 resampling kernels. */
const RATES_HZ = { least: 8_000, most: 48_000, step: 50 };

/** How samples are laid out. */
export interface PcmLayout {
  readonly channels: number;
  readonly rateHz: number;
}

export function canRead({ channels, rateHz }: PcmLayout): boolean {
  const isUsualRate = rateHz >= RATES_HZ.least && rateHz <= RATES_HZ.most && rateHz % RATES_HZ.step === 0;
  return isUsualRate && (channels === 1 || channels === 2);
}

/** Reads 16-bit samples without a header. Mixes channels; ignores half a sample at the end. */
export class PcmReader implements SampleReader {
  private readonly channels: number;
  private readonly resampler: Resampler | null;
  private rest: Buffer = Buffer.alloc(0);

  constructor({ channels, rateHz }: PcmLayout = { channels: 1, rateHz: SPEECH_RATE_HZ }) {
    this.channels = channels;
    this.resampler = rateHz === SPEECH_RATE_HZ ? null : new Resampler(rateHz, SPEECH_RATE_HZ);
  }

  read(bytes: Buffer): Int16Array {
    const samples = this.mix(bytes);
    return this.resampler?.push(samples) ?? samples;
  }

  end(): Int16Array {
    return this.resampler?.end() ?? new Int16Array(0);
  }

  private mix(bytes: Buffer): Int16Array {
    const { channels } = this;
    const whole = this.rest.length === 0 ? bytes : Buffer.concat([this.rest, bytes]);
    const blockBytes = channels * SAMPLE_BYTES;
    const samples = new Int16Array(Math.floor(whole.length / blockBytes));
    for (let index = 0; index < samples.length; index++) {
      let sum = 0;
      for (let channel = 0; channel < channels; channel++) {
        sum += whole.readInt16LE(index * blockBytes + channel * SAMPLE_BYTES);
      }
      samples[index] = sum / channels;
    }
    this.rest = whole.subarray(samples.length * blockBytes);
    return samples;
  }
}

/** Chunks before the samples name the encoder, for example; speech is not expected to have longer ones. */
const MAX_HEAD_BYTES = 64 * 1024;
const PCM_TAG = 1;

interface WavHead extends PcmLayout {
  /** Offset of the first sample. */
  readonly from: number;
  /** Announced bytes of samples, which may be more than a stream sends. `Infinity`: not announced. */
  readonly dataBytes: number;
}

/** Reads a WAV file of 16-bit samples, mono or stereo, at any usual rate. */
export class WavReader implements SampleReader {
  private head: Buffer = Buffer.alloc(0);
  private samples: WavSamples | null = null;

  read(bytes: Buffer): Int16Array {
    if (this.samples !== null) return this.samples.read(bytes);
    this.head = Buffer.concat([this.head, bytes]);
    const found = readHead(this.head);
    if (found === null) {
      if (this.head.length > MAX_HEAD_BYTES) throw unreadable();
      return new Int16Array(0);
    }
    this.samples = new WavSamples(found);
    return this.samples.read(this.head.subarray(found.from));
  }

  end(): Int16Array {
    if (this.samples === null) throw unreadable();
    return this.samples.end();
  }
}

class WavSamples implements SampleReader {
  private readonly pcm: PcmReader;
  private remainingBytes: number;

  constructor(head: WavHead) {
    this.pcm = new PcmReader(head);
    this.remainingBytes = head.dataBytes;
  }

  /** Ignores chunks that follow the samples. */
  read(bytes: Buffer): Int16Array {
    const own = bytes.subarray(0, Math.min(bytes.length, this.remainingBytes));
    this.remainingBytes -= own.length;
    return this.pcm.read(own);
  }

  end(): Int16Array {
    return this.pcm.end();
  }
}

/** `null`: incomplete. @throws ProviderError */
function readHead(head: Buffer): WavHead | null {
  if (head.length < 12) return null;
  if (head.toString('latin1', 0, 4) !== 'RIFF' || head.toString('latin1', 8, 12) !== 'WAVE') throw unreadable();
  let format: PcmLayout | null = null;
  for (let at = 12; at + 8 <= head.length;) {
    const id = head.toString('latin1', at, at + 4);
    const size = head.readUInt32LE(at + 4);
    const from = at + 8;
    if (id === 'data') {
      if (format === null) throw unreadable();
      return { ...format, from, dataBytes: size === 0 ? Infinity : size };
    }
    at = from + size + (size % 2);
    if (id === 'fmt ' && at <= head.length) format = readFormat(head.subarray(from, at));
  }
  return null;
}

function readFormat(chunk: Buffer): PcmLayout {
  let format;
  try {
    format = readWavFormat(chunk);
  } catch (error) {
    throw unreadable(error);
  }
  const { tag, channels, rateHz, sampleBytes } = format;
  if (tag !== PCM_TAG || sampleBytes !== SAMPLE_BYTES || !canRead({ channels, rateHz })) throw unreadable();
  return { channels, rateHz };
}

/** The vendor has made the speech and bills it, so no other attempt may follow. */
function unreadable(cause?: unknown): ProviderError {
  return new ProviderError('provider_error', 'The provider sent a WAV file that cannot be converted.', {
    phase: 'stream',
    fallback: false,
    cause,
  });
}
