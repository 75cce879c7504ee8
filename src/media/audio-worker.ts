/*
 * The thread that reads files of sound for `probe-threads.ts`, one per message. It may hang or run out of memory over a
 * hostile file: its owner ends it then. Apart from types it imports nothing of the project but by a full address, so that it needs no loader.
 */
import { basename, dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parentPort } from 'node:worker_threads';
import type { EncodedPacket, InputAudioTrack, InputFormat } from 'mediabunny';
import type { ProbeOutcome, ProbeTask } from './audio-probe.types';

type Mediabunny = typeof import('mediabunny');
type SoundBytes = typeof import('./sound-bytes');
type SoundContainers = typeof import('./sound-containers');

const MAX_SECONDS = 86_400;
/** What a file may take of the processor, however busy the machine is; looked at every so many packets. */
const MAX_CPU_MICROSECONDS = 2_000_000;
const PACKETS_PER_LOOK = 4_096;
/** More tracks of sound than this are in no recording. */
const MAX_TRACKS = 16;
/** Codings whose packets say themselves how long they sound. */
const CODINGS_WITH_HEADERS: ReadonlySet<string> = new Set(['opus', 'mp3', 'flac']);
/** Samples in a frame of the others. */
const FRAME_SAMPLES: Readonly<Partial<Record<string, number>>> = { aac: 1_024, alac: 4_096 };
/** The most that a frame of AAC may take for a channel. */
const AAC_FRAME_BYTES = 768;
/** More than any encoder spends on a second of one channel, where it may leave out what is not heard. */
const LOSSY_BYTES_PER_SECOND = 40_000;

interface Tools {
  readonly library: Mediabunny;
  readonly sound: SoundBytes;
  readonly containers: SoundContainers;
}
const loading = loadTools();

parentPort?.on('message', ({ bytes }: ProbeTask) => {
  // What the reader throws says that the file is not what it reads, or damaged.
  void loading
    .then((loaded) => probe(bytes, loaded))
    .catch(() => null)
    .then((outcome) => parentPort?.postMessage(outcome, []));
});

async function loadTools(): Promise<Tools> {
  // This file itself: its neighbours have the same extension.
  const [, path = ''] = process.argv;
  const neighbour = (name: string): string =>
    pathToFileURL(join(dirname(path), basename(path).replace('audio-worker', name))).href;
  const [library, sound, containers] = await Promise.all([
    import('mediabunny'),
    import(neighbour('sound-bytes')) as Promise<SoundBytes>,
    import(neighbour('sound-containers')) as Promise<SoundContainers>,
  ]);
  // It would quote the files of clients on the console.
  library.Logging.level = library.LogLevel.Silent;
  return { library, sound, containers };
}

async function probe(bytes: Uint8Array, tools: Tools): Promise<ProbeOutcome> {
  const began = process.threadCpuUsage();
  const { library, sound, containers } = tools;
  const { ADTS, BufferSource, FLAC, Input, MP3, MP4, OGG, QTFF, WAVE, WEBM } = library;
  // Bare frames come last: they may be anywhere near the beginning, also in a title of another container.
  const formats = [MP4, QTFF, WAVE, FLAC, OGG, WEBM, ADTS, MP3];
  const input = new Input({ source: new BufferSource(bytes), formats });
  try {
    const format = await input.getFormat();
    const kind = kindOf(library, format);
    const file = Buffer.from(bytes.buffer);
    const tracks = await input.getAudioTracks();
    if (tracks.length > MAX_TRACKS) throw new Error('too many tracks');
    if (format === OGG) containers.assertOneChain(file);
    if (format === WEBM) containers.assertOneSegment(file);
    if (format === MP4 || format === QTFF) containers.assertOneFilm(file);
    if (format === MP3 || format === ADTS) containers.assertBareFrames(file, sound.endOfTags(file));
    const silencedBytes = format === WAVE ? containers.silencedBytes(file) : 0;
    let seconds = tracks.length === 0 ? 0 : bareSeconds(kind.extension, file, sound);
    for (const track of seconds === 0 ? tracks : []) {
      if (format !== OGG) await assertTimed(track);
      seconds = Math.max(seconds, await measure(tools, track, silencedBytes, began));
    }
    const durationSeconds = Math.round(seconds * 1_000) / 1_000;
    return durationSeconds > 0 && durationSeconds <= MAX_SECONDS ? { durationSeconds, ...kind } : null;
  } finally {
    input.dispose();
  }
}

function kindOf({ ADTS, FLAC, MP3, OGG, WAVE, WEBM }: Mediabunny, format: InputFormat) {
  switch (format) {
    case MP3:
      return { contentType: 'audio/mpeg', extension: 'mp3' };
    case WAVE:
      return { contentType: 'audio/wav', extension: 'wav' };
    case FLAC:
      return { contentType: 'audio/flac', extension: 'flac' };
    case OGG:
      return { contentType: 'audio/ogg', extension: 'ogg' };
    case WEBM:
      return { contentType: 'audio/webm', extension: 'webm' };
    case ADTS:
      return { contentType: 'audio/aac', extension: 'aac' };
    default:
      return { contentType: 'audio/mp4', extension: 'mp4' };
  }
}

/**
 * Of files that are nothing but frames, decoders play all, whatever is between, and so they count. Of frames of two kinds
 * a decoder plays one, and nobody knows which. 0 for any other file.
 */
function bareSeconds(extension: string, file: Buffer, sound: SoundBytes): number {
  if (extension === 'mp3' || extension === 'aac') return Math.max(sound.mpegSeconds(file), sound.adtsSeconds(file));
  return extension === 'flac' ? sound.flacSeconds(file, 0) : 0;
}

/** @throws Error for Vorbis outside of Ogg: how long a packet sounds would be for the container alone to say. */
async function assertTimed(track: InputAudioTrack): Promise<void> {
  if ((await track.getCodec()) === 'vorbis') throw new Error('times that nothing can be held against');
}

/**
 * Seconds of sound in a track. Its packets say when they begin and how long they are, in tables that can be made to lie;
 * where the coding itself tells how long a packet sounds, that counts if it is more.
 * @param began what the thread had used when it began with the file.
 * @throws Error for codings that are not known: there is nothing to hold their tables against.
 */
async function measure(
  { library, sound }: Tools,
  track: InputAudioTrack,
  silencedBytes: number,
  began: NodeJS.CpuUsage,
): Promise<number> {
  const [codec, rate, channels] = [
    (await track.getCodec()) ?? String(await track.getInternalCodecId()),
    await track.getSampleRate(),
    await track.getNumberOfChannels(),
  ];
  const soundingOf = codingOf(codec, rate, channels, sound);
  const sink = new library.EncodedPacketSink(track);
  const metadataOnly = !CODINGS_WITH_HEADERS.has(codec);
  let packets = 0;
  let [begin, end, said, sounding] = [Infinity, 0, 0, soundingOf(silencedBytes, null)];
  for await (const packet of sink.packets(undefined, undefined, { metadataOnly })) {
    begin = Math.min(begin, packet.timestamp);
    end = Math.max(end, packet.timestamp + packet.duration);
    said += packet.duration;
    sounding += soundingOf(packet.byteLength, packet);
    if (++packets % PACKETS_PER_LOOK === 0) assertTime(began);
  }
  return Math.max(end - begin, said, sounding);
}

/** @throws Error when too much has been taken. */
function assertTime(began: NodeJS.CpuUsage): void {
  const { user, system } = process.threadCpuUsage(began);
  if (user + system > MAX_CPU_MICROSECONDS) throw new Error('too long');
}

/** Seconds that so many bytes of a coding sound for, at least. */
function codingOf(codec: string, rate: number, channels: number, sound: SoundBytes) {
  const pcmBytes = pcmSampleBytes(codec);
  const frameSamples = FRAME_SAMPLES[codec] ?? 0;
  if (pcmBytes + frameSamples === 0 && !CODINGS_WITH_HEADERS.has(codec) && codec !== 'vorbis')
    throw new Error('unknown');
  return (bytes: number, packet: EncodedPacket | null): number => {
    if (pcmBytes > 0) return bytes / (pcmBytes * channels * rate);
    if (packet === null) return 0;
    if (codec === 'opus') return sound.opusSeconds(packet.data);
    if (codec === 'mp3') return sound.mpegSeconds(Buffer.from(packet.data));
    if (codec === 'flac') return sound.flacSeconds(Buffer.from(packet.data), rate);
    // A packet may hold several frames.
    if (codec === 'aac') return (Math.ceil(bytes / (AAC_FRAME_BYTES * channels)) * frameSamples) / rate;
    return Math.max(frameSamples / rate, codec === 'alac' ? 0 : bytes / (LOSSY_BYTES_PER_SECOND * channels));
  };
}

function pcmSampleBytes(codec: string): number {
  if (codec === 'ulaw' || codec === 'alaw') return 1;
  const bits = /^pcm-[usf](8|16|24|32|64)(be)?$/.exec(codec)?.[1];
  return bits === undefined ? 0 : Number(bits) / 8;
}
