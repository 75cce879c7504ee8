/*
 * Measures a recording packet by packet and writes the counted packets to a new file, so that a provider receives
 * exactly what was measured. All other content, such as time tables, edit lists, further tracks and titles, is dropped,
 * so that no reader can find more in it.
 */
import type { ProbedAudio } from './media-probes';
import {
  assertBareFrames,
  FlacRemuxer,
  isMediaContainer,
  isProgramStream,
  MpegRemuxer,
  PcmRemuxer,
  programStreamAudio,
  remuxFlac,
  remuxMpeg,
} from './bare-remuxers';
import { remuxContainer } from './container-tracks';
import { adtsFrames, endOfTags, mpegFrames } from './coded-frames';
import { endOfAacFrame } from './aac-frames';
import { AacRemuxer, OpusRemuxer, type PacketRemuxer, VorbisRemuxer } from './packet-remuxers';
import { readOgg, readWav } from './container-readers';
import { readVorbisHeaders } from './vorbis-headers';

const MAX_SECONDS = 86_400;
/** CPU time limit per file; the longest ordinary files of 25 MiB take less than a third. */
const MAX_CPU_MICROSECONDS = 15_000_000;
const PACKETS_PER_LOOK = 4_096;
/** The first bare frame must start and end within these bytes. */
const MAX_LEAD_BYTES = 65_536;

/**
 * @returns `null` for a file without duration, or longer than a day.
 * @throws Error for unreadable files.
 */
export async function remux(bytes: Uint8Array<ArrayBuffer>): Promise<ProbedAudio | null> {
  const remuxed = await remuxAny(bytes);
  const durationSeconds = Math.round(remuxed.durationSeconds * 1_000) / 1_000;
  return durationSeconds > 0 && durationSeconds <= MAX_SECONDS ? { ...remuxed, durationSeconds } : null;
}

async function remuxAny(bytes: Uint8Array<ArrayBuffer>): Promise<ProbedAudio> {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const assertCpuLimit = cpuLimit();
  const magic = file.toString('latin1', 0, 4);
  if (magic === 'RIFF') return remuxWav(file);
  if (magic === 'OggS') return remuxOgg(file, assertCpuLimit);
  if (isMediaContainer(file)) return remuxContainer(bytes, assertCpuLimit);
  if (isProgramStream(file)) return remuxAll(new MpegRemuxer(file.length), programStreamAudio(file), assertCpuLimit);
  const behindTags = endOfTags(file);
  if (file.toString('latin1', behindTags, behindTags + 4) === 'fLaC') return remuxFlacFile(file.subarray(behindTags));
  assertBareFrames(file, behindTags);
  const lead = file.subarray(0, behindTags + MAX_LEAD_BYTES);
  const [adts] = adtsFrames(lead, behindTags, endOfAacFrame);
  const [mpeg] = mpegFrames(lead, behindTags);
  if (adts === undefined && mpeg === undefined) throw new Error('no frames');
  // With two kinds of frames, the first kind counts.
  if (adts !== undefined && adts.from < (mpeg?.from ?? Infinity)) return remuxAdts(file, adts.from, assertCpuLimit);
  return remuxMpeg(file, behindTags);
}

/** Throws after {@link MAX_CPU_MICROSECONDS}, checking the clock periodically. */
function cpuLimit(): () => void {
  const began = process.threadCpuUsage();
  let calls = 0;
  return () => {
    if (++calls % PACKETS_PER_LOOK !== 0) return;
    const { user, system } = process.threadCpuUsage(began);
    if (user + system > MAX_CPU_MICROSECONDS) throw new Error('too long');
  };
}

function remuxAll(remuxer: PacketRemuxer, packets: Iterable<Uint8Array>, assertCpuLimit: () => void): ProbedAudio {
  for (const packet of packets) {
    remuxer.add(packet);
    assertCpuLimit();
  }
  return remuxer.finish();
}

function remuxWav(file: Buffer): ProbedAudio {
  const { from, to, titles, ...format } = readWav(file);
  const remuxer = new PcmRemuxer({ ...format, isBigEndian: false, isSigned8: false }, to - from, titles);
  return remuxAll(remuxer, [file.subarray(from, to)], () => undefined);
}

function remuxOgg(file: Buffer, assertCpuLimit: () => void): ProbedAudio {
  const { coding, packets } = readOgg(file);
  const rest = packets();
  const next = (): Uint8Array => {
    const { value } = rest.next();
    if (value === undefined) throw new Error('headers that are cut off');
    return value;
  };
  const first = next();
  if (coding === 'flac')
    return remuxAll(new FlacRemuxer(first.subarray(9), file.length), withSync(rest), assertCpuLimit);
  // Comments.
  next();
  const remuxer =
    coding === 'opus'
      ? new OpusRemuxer(first, file.length)
      : new VorbisRemuxer(readVorbisHeaders(first, next()), file.length);
  return remuxAll(remuxer, rest, assertCpuLimit);
}

/** Without the metadata packets. */
function* withSync(packets: Iterable<Uint8Array>): Generator<Uint8Array> {
  for (const packet of packets) if (packet[0] === 0xff) yield packet;
}

function remuxFlacFile(file: Buffer): ProbedAudio {
  let at = 4;
  let isLast = false;
  while (!isLast && at + 4 <= file.length) {
    isLast = (file.readUInt8(at) & 0x80) !== 0;
    at += 4 + file.readUIntBE(at + 1, 3);
  }
  return remuxFlac(file.subarray(0, 42), file, at);
}

/** @throws Error when frames differ in rate or channels. */
function remuxAdts(file: Buffer, from: number, assertCpuLimit: () => void): ProbedAudio {
  let remuxer: AacRemuxer | null = null;
  let layout = '';
  for (const { rateIndex, channels, payloadFrom, to } of adtsFrames(file, from, endOfAacFrame)) {
    const own = `${rateIndex}/${channels}`;
    if (remuxer === null) [remuxer, layout] = [new AacRemuxer({ rateIndex, channels }, file.length), own];
    if (own !== layout) throw new Error('more than one recording');
    remuxer.add(file.subarray(payloadFrom, to));
    assertCpuLimit();
  }
  if (remuxer === null) throw new Error('no frames');
  return remuxer.finish();
}
