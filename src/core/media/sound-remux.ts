/*
 * Measures a recording packet by packet and writes the counted packets to a new file, so that a provider receives
 * exactly what was measured. All other content, such as time tables, edit lists, further tracks and titles, is dropped,
 * so that no reader can find more in it.
 */
import type { ProbedAudio } from './probe-threads';
import { assertBareFrames, isFilm, isProgramStream, programStreamAudio } from './bare-frames';
import { recordFilm } from './media-tracks';
import { adtsFrames, endOfTags, mpegFrames } from './sound-bytes';
import { endOfAacFrame } from './aac-frames';
import { FlacRecorder, MpegRecorder, PcmRecorder, recordFlac, recordMpeg } from './bare-codings';
import { AacRecorder, OpusRecorder, type Recorded, type Recorder, VorbisRecorder } from './sound-codings';
import { readOgg, readWav } from './sound-containers';
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
  const recorded = await record(bytes);
  const durationSeconds = Math.round(recorded.durationSeconds * 1_000) / 1_000;
  return durationSeconds > 0 && durationSeconds <= MAX_SECONDS ? { ...recorded, durationSeconds } : null;
}

async function record(bytes: Uint8Array<ArrayBuffer>): Promise<Recorded> {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const assertTime = cpuLimit();
  const magic = file.toString('latin1', 0, 4);
  if (magic === 'RIFF') return recordWav(file);
  if (magic === 'OggS') return recordOgg(file, assertTime);
  if (isFilm(file)) return recordFilm(bytes, assertTime);
  if (isProgramStream(file)) return recordAll(new MpegRecorder(file.length), programStreamAudio(file), assertTime);
  const behindTags = endOfTags(file);
  if (file.toString('latin1', behindTags, behindTags + 4) === 'fLaC') return recordFlacFile(file.subarray(behindTags));
  assertBareFrames(file, behindTags);
  const lead = file.subarray(0, behindTags + MAX_LEAD_BYTES);
  const [adts] = adtsFrames(lead, behindTags, endOfAacFrame);
  const [mpeg] = mpegFrames(lead, behindTags);
  if (adts === undefined && mpeg === undefined) throw new Error('no frames');
  // With two kinds of frames, the first kind counts.
  if (adts !== undefined && adts.from < (mpeg?.from ?? Infinity)) return recordAdts(file, adts.from, assertTime);
  return recordMpeg(file, behindTags);
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

function recordAll(recorder: Recorder, packets: Iterable<Uint8Array>, assertTime: () => void): Recorded {
  for (const packet of packets) {
    recorder.add(packet);
    assertTime();
  }
  return recorder.finish();
}

function recordWav(file: Buffer): Recorded {
  const { from, to, titles, ...format } = readWav(file);
  const recorder = new PcmRecorder({ ...format, isBigEndian: false, isSigned8: false }, to - from, titles);
  return recordAll(recorder, [file.subarray(from, to)], () => undefined);
}

function recordOgg(file: Buffer, assertTime: () => void): Recorded {
  const { coding, packets } = readOgg(file);
  const rest = packets();
  const next = (): Uint8Array => {
    const { value } = rest.next();
    if (value === undefined) throw new Error('headers that are cut off');
    return value;
  };
  const first = next();
  if (coding === 'flac') return recordAll(new FlacRecorder(first.subarray(9), file.length), withSync(rest), assertTime);
  // Comments.
  next();
  const recorder =
    coding === 'opus'
      ? new OpusRecorder(first, file.length)
      : new VorbisRecorder(readVorbisHeaders(first, next()), file.length);
  return recordAll(recorder, rest, assertTime);
}

/** Without the metadata packets. */
function* withSync(packets: Iterable<Uint8Array>): Generator<Uint8Array> {
  for (const packet of packets) if (packet[0] === 0xff) yield packet;
}

function recordFlacFile(file: Buffer): Recorded {
  let at = 4;
  let isLast = false;
  while (!isLast && at + 4 <= file.length) {
    isLast = (file.readUInt8(at) & 0x80) !== 0;
    at += 4 + file.readUIntBE(at + 1, 3);
  }
  return recordFlac(file.subarray(0, 42), file, at);
}

/** @throws Error when frames differ in rate or channels. */
function recordAdts(file: Buffer, from: number, assertTime: () => void): Recorded {
  let recorder: AacRecorder | null = null;
  let layout = '';
  for (const { rateIndex, channels, payloadFrom, to } of adtsFrames(file, from, endOfAacFrame)) {
    const own = `${rateIndex}/${channels}`;
    if (recorder === null) [recorder, layout] = [new AacRecorder({ rateIndex, channels }, file.length), own];
    if (own !== layout) throw new Error('more than one recording');
    recorder.add(file.subarray(payloadFrom, to));
    assertTime();
  }
  if (recorder === null) throw new Error('no frames');
  return recorder.finish();
}
