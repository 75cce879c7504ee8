import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { EncodedAudioPacketSource, EncodedPacket, EncodedVideoPacketSource, Output } from 'mediabunny';
import { wavHeader } from '../../../core/media/container-writers';
import { crc16, crc8 } from '../../../core/media/coded-frames';

export type AudioFormat = 'mp3' | 'opus' | 'aac' | 'flac' | 'wav' | 'pcm';

/** A recording that repeats a fixture. */
export interface AudioOptions {
  readonly kind: 'speech' | 'music';
  readonly format: AudioFormat;
  readonly seconds: number;
  /** Hertz; speech has `SPEECH_RATE`. */
  readonly sampleRate: number;
  /** Selects where in the fixture the recording begins. */
  readonly seed: number;
  /** Kept as a tag where the format has one, so that the mock can transcribe its own speech; may be empty. */
  readonly transcript: string;
}

/** A film that repeats a fixture. */
export interface VideoOptions {
  readonly prompt: string;
  readonly seconds: number;
  /** `480p`, `720p` or `1080p`; `null` or another word: `720p`. */
  readonly resolution: string | null;
  /** `16:9`, `9:16` or `1:1`; `null` or another word: `16:9`. */
  readonly aspectRatio: string | null;
  /** Whether it has an audio track. */
  readonly audio: boolean;
  /** Selects the first scene. */
  readonly seed: number;
}

/** The only track of a fixture. All of its packets have the same duration. */
interface FixtureTrack {
  readonly packets: readonly EncodedPacket[];
  readonly packetSeconds: number;
  readonly decoderConfig: object;
}

export const SPEECH_RATE = 24_000;
/** The sample rates of the fixtures; raw samples have any. */
export const MUSIC_RATES: readonly number[] = [16_000, 22_050, 24_000, 32_000, 44_100, 48_000];
/** Precedes the transcript in the tag. */
const TRANSCRIPT_MARK = 'mock: ';
const SAMPLE_BYTES = 2;
const FILES = { mp3: 'mp3', aac: 'aac', flac: 'flac', opus: 'ogg' } as const;
const HEIGHTS: ReadonlyMap<unknown, number> = new Map([
  ['480p', 480],
  ['720p', 720],
  ['1080p', 1080],
]);
const FRAMES_PER_SCENE = 24;
/** Packets written per iteration of the event loop. */
const PACKETS_PER_ITERATION = 250;
/** Files up to this size are read completely to find their duration. */
const SHORT_BYTES = 1_048_576;
const FALLBACK_BYTES_PER_SECOND = 8_000;

const tracks = new Map<string, Promise<FixtureTrack>>();

/** A playable file. */
export async function makeAudio(options: AudioOptions): Promise<Buffer> {
  const { kind, format, seconds, sampleRate, seed, transcript } = options;
  if (format === 'wav' || format === 'pcm') return makeSamples(options);
  const rate = kind === 'music' ? `-${sampleRate}` : '';
  const { Mp3OutputFormat, AdtsOutputFormat, FlacOutputFormat, OggOutputFormat, ...media } = await loadMediaLibrary();
  const containers = {
    mp3: () => new Mp3OutputFormat({ xingHeader: false }),
    aac: () => new AdtsOutputFormat(),
    flac: () => new FlacOutputFormat(),
    opus: () => new OggOutputFormat(),
  };
  const target = new media.BufferTarget();
  const output = new media.Output({ format: containers[format](), target });
  if (transcript !== '') output.setMetadataTags({ comment: TRANSCRIPT_MARK + transcript });
  const source = new media.EncodedAudioPacketSource(format);
  output.addAudioTrack(source);
  await output.start();
  await addPackets(source, await readTrack(`${kind}${rate}.${FILES[format]}`), seconds, seed);
  return finish(output, target);
}

/** An MP4 file with the prompt as its title. */
export async function makeVideo({
  prompt,
  seconds,
  resolution,
  aspectRatio,
  audio,
  seed,
}: VideoOptions): Promise<Buffer> {
  const media = await loadMediaLibrary();
  const target = new media.BufferTarget();
  const output = new media.Output({ format: new media.Mp4OutputFormat({ fastStart: 'in-memory' }), target });
  if (prompt !== '') output.setMetadataTags({ title: prompt });
  const pictures = new media.EncodedVideoPacketSource('avc');
  const sound = new media.EncodedAudioPacketSource('aac');
  output.addVideoTrack(pictures, { frameRate: FRAMES_PER_SCENE });
  if (audio) output.addAudioTrack(sound);
  await output.start();
  const scenes = await readTrack(`video-${sizeOf(resolution, aspectRatio)}.mp4`);
  await addPackets(pictures, scenes, seconds, FRAMES_PER_SCENE * seed);
  pictures.close();
  if (audio) await addPackets(sound, await readTrack('speech.aac'), seconds, 0);
  return finish(output, target);
}

/**
 * Duration, and the transcript tag of the mock's own files, else `null`. Of a long file it reads the beginning only.
 */
export async function measureAudio(
  audio: Buffer,
): Promise<{ readonly seconds: number; readonly transcript: string | null }> {
  const { Input, BufferSource, ALL_FORMATS } = await loadMediaLibrary();
  using input = new Input({ source: new BufferSource(audio), formats: ALL_FORMATS });
  try {
    const known = audio.length <= SHORT_BYTES ? await input.computeDuration() : await input.getDurationFromMetadata();
    const { comment = '' } = await input.getMetadataTags();
    const transcript = comment.startsWith(TRANSCRIPT_MARK) ? comment.slice(TRANSCRIPT_MARK.length).trim() : null;
    return { seconds: known ?? audio.length / FALLBACK_BYTES_PER_SECOND, transcript };
  } catch {
    return { seconds: audio.length / FALLBACK_BYTES_PER_SECOND, transcript: null };
  }
}

/** Megabytes of code, hence loaded with the first file. */
export function loadMediaLibrary() {
  return import('mediabunny');
}

async function finish(output: Output, target: { readonly buffer: ArrayBuffer | null }): Promise<Buffer> {
  await output.finalize();
  return Buffer.from(target.buffer ?? new ArrayBuffer(0));
}

/** Raw samples, with a header for WAV. */
async function makeSamples({ kind, format, seconds, sampleRate, seed }: AudioOptions): Promise<Buffer> {
  const loop = await readFixture(`${kind}.pcm`);
  const samples = Buffer.alloc(SAMPLE_BYTES * Math.ceil(seconds * sampleRate));
  const start = SAMPLE_BYTES * (seed % (loop.length / SAMPLE_BYTES));
  for (let at = 0; at < samples.length;) at += loop.copy(samples, at, (start + at) % loop.length);
  if (format === 'pcm') return samples;
  const coding = { tag: 1, channels: 1, rateHz: sampleRate, sampleBytes: SAMPLE_BYTES };
  return Buffer.concat([wavHeader(coding, samples.length, Buffer.alloc(0)), samples]);
}

/** Adds the packets of a track, over and over, from the packet number `first`. */
async function addPackets(
  source: EncodedAudioPacketSource | EncodedVideoPacketSource,
  { packets, packetSeconds, decoderConfig }: FixtureTrack,
  seconds: number,
  first: number,
): Promise<void> {
  const { EncodedPacket: Packet } = await loadMediaLibrary();
  // Readers recognize bare frames by two of them. Rounding errors of the division must not add a packet.
  const count = Math.max(2, Math.ceil(seconds / packetSeconds - 1e-6));
  const isFlac = 'codec' in decoderConfig && decoderConfig.codec === 'flac';
  for (let index = 0; index < count; index++) {
    const { data, type } = packets[(first + index) % packets.length] as EncodedPacket;
    const bytes = isFlac ? numberedFrame(data, index) : data;
    const packet = new Packet(bytes, type, index * packetSeconds, packetSeconds);
    await source.add(packet, { decoderConfig: decoderConfig as AudioDecoderConfig & VideoDecoderConfig });
    if (index % PACKETS_PER_ITERATION === 0) await new Promise<void>((resolve) => setImmediate(resolve));
  }
}

/**
 * A frame of a FLAC fixture with another number, from which decoders take its time (RFC 9639, section 9.1). Fixtures
 * are so short that their own numbers have one byte.
 */
function numberedFrame(frame: Uint8Array, number: number): Buffer {
  const head = Buffer.concat([frame.subarray(0, 4), Buffer.from(String.fromCodePoint(number))]);
  const body = Buffer.concat([head, Buffer.from([crc8(head)]), frame.subarray(6, -2)]);
  const checksum = crc16(body);
  return Buffer.concat([body, Buffer.from([checksum >> 8, checksum & 0xff])]);
}

function readFixture(name: string): Promise<Buffer> {
  return readFile(join(__dirname, 'fixtures', name));
}

/** Read once. */
function readTrack(name: string): Promise<FixtureTrack> {
  const known = tracks.get(name) ?? loadTrack(name);
  tracks.set(name, known);
  return known;
}

async function loadTrack(name: string): Promise<FixtureTrack> {
  const { ALL_FORMATS, BufferSource, EncodedPacketSink, Input } = await loadMediaLibrary();
  using input = new Input({ source: new BufferSource(await readFixture(name)), formats: ALL_FORMATS });
  const [track] = await input.getTracks();
  const decoderConfig = await (track?.isVideoTrack() || track?.isAudioTrack() ? track.getDecoderConfig() : null);
  if (track === undefined || decoderConfig === null) throw new Error(`The fixture ${name} has no track.`);
  const packets: EncodedPacket[] = [];
  for await (const packet of new EncodedPacketSink(track).packets()) packets.push(packet);
  // The first packet may be shortened by the delay of its encoder.
  return { packets, packetSeconds: packets[1]?.duration ?? 0, decoderConfig };
}

/** The size of the fixture, in even numbers. */
function sizeOf(resolution: string | null, aspectRatio: string | null): string {
  const short = HEIGHTS.get(resolution) ?? 720;
  const long = 2 * Math.round((short * 16) / 9 / 2);
  if (aspectRatio === '1:1') return `${short}x${short}`;
  return aspectRatio === '9:16' ? `${short}x${long}` : `${long}x${short}`;
}
