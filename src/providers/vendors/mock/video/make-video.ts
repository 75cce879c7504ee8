import type { AudioSampleSource, EncodedVideoPacketSource } from 'mediabunny';
import { hashText } from '../random';
import { loadMediaLibrary } from '../sound/media-library';
import { Tune } from '../sound/tune';
import { CELL, H264Encoder, type StreamDescription } from './h264-encoder';
import { Scene } from './scene';

/** A requested film. */
export interface VideoWish {
  readonly prompt: string;
  readonly seconds: number;
  /** Pixels; even numbers. */
  readonly width: number;
  readonly height: number;
  /** Whether it has an audio track. */
  readonly audio: boolean;
  readonly seed: number;
}

const FRAMES_PER_SECOND = 24;
const KEY_EVERY_SECONDS = 2;
const SOUND_RATE = 24_000;
const SOUND_BITRATE = 64_000;

/** A playable MP4 file, the same for the same wish. Yields to the event loop several times per second of film. */
export async function makeVideo(wish: VideoWish): Promise<Buffer> {
  const media = await loadMediaLibrary();
  const target = new media.BufferTarget();
  const output = new media.Output({ format: new media.Mp4OutputFormat({ fastStart: 'in-memory' }), target });
  const pictures = new media.EncodedVideoPacketSource('avc');
  output.addVideoTrack(pictures, { frameRate: FRAMES_PER_SECOND });
  const sound = wish.audio ? new media.AudioSampleSource({ codec: 'aac', bitrate: SOUND_BITRATE }) : null;
  if (sound !== null) output.addAudioTrack(sound);
  try {
    await output.start();
    await Promise.all([addPictures(pictures, wish), sound === null ? null : addSound(sound, wish)]);
    await output.finalize();
  } finally {
    if (output.state !== 'finalized') await output.cancel();
  }
  return Buffer.from(target.buffer ?? new ArrayBuffer(0));
}

async function addPictures(source: EncodedVideoPacketSource, wish: VideoWish): Promise<void> {
  const { EncodedPacket } = await loadMediaLibrary();
  const { prompt, seed, width, height, seconds } = wish;
  const encoder = new H264Encoder(width, height);
  const whole = { width: encoder.columns * CELL, height: encoder.rows * CELL };
  const scene = new Scene(prompt, seed, Math.floor(width / CELL), Math.floor(height / CELL), whole);
  const decoderConfig = decoderConfigOf(encoder.describe(), wish);
  const frames = Math.max(1, Math.round(seconds * FRAMES_PER_SECOND));
  for (let frame = 0; frame < frames; frame++) {
    const isKey = frame % (FRAMES_PER_SECOND * KEY_EVERY_SECONDS) === 0;
    const unit = encoder.encode(scene.at(frame / FRAMES_PER_SECOND, seconds), isKey);
    const packet = new EncodedPacket(
      lengthPrefixed(unit),
      isKey ? 'key' : 'delta',
      frame / FRAMES_PER_SECOND,
      1 / FRAMES_PER_SECOND,
    );
    await source.add(packet, { decoderConfig });
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
  source.close();
}

async function addSound(source: AudioSampleSource, { prompt, seed, seconds }: VideoWish): Promise<void> {
  const { AudioSample } = await loadMediaLibrary();
  const tune = new Tune(hashText(prompt) ^ seed, seconds, SOUND_RATE);
  let timestamp = 0;
  for (let data = tune.read(SOUND_RATE); data.length > 0; data = tune.read(SOUND_RATE)) {
    const sample = new AudioSample({ data, format: 's16', numberOfChannels: 1, sampleRate: SOUND_RATE, timestamp });
    timestamp += data.length / SOUND_RATE;
    await source.add(sample);
    sample.close();
  }
  source.close();
}

function decoderConfigOf({ codec, parameterSets }: StreamDescription, { width, height }: VideoWish) {
  return {
    codec,
    codedWidth: width,
    codedHeight: height,
    description: toDecoderRecord(parameterSets),
    colorSpace: { primaries: 'bt709', transfer: 'bt709', matrix: 'bt709', fullRange: false },
  } as const;
}

/** ISO/IEC 14496-15, section 5.3.3: both parameter sets, and units after four bytes of length. */
function toDecoderRecord({ sequence, picture }: StreamDescription['parameterSets']): Buffer {
  const head = Buffer.from([1, sequence[1] ?? 0, sequence[2] ?? 0, sequence[3] ?? 0, 0xff, 0xe1]);
  return Buffer.concat([head, twoByteLength(sequence), sequence, Buffer.from([1]), twoByteLength(picture), picture]);
}

function twoByteLength({ length }: Buffer): Buffer {
  return Buffer.from([length >> 8, length & 0xff]);
}

function lengthPrefixed(unit: Buffer): Uint8Array<ArrayBuffer> {
  const prefixed = new Uint8Array(4 + unit.length);
  new DataView(prefixed.buffer).setUint32(0, unit.length);
  prefixed.set(unit, 4);
  return prefixed;
}
