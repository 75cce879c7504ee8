import type { Input } from 'mediabunny';
import { MOCK_ARTIST } from './encode-audio';
import { loadMediaLibrary } from './media-library';

/** What the mock recognizes in a file. */
export interface Hearing {
  readonly seconds: number;
  /** The transcript tag of the mock's own files; `null` for all others. */
  readonly transcript: string | null;
}

/** Files up to this size are read completely. */
const SHORT_BYTES = 1_048_576;
/** Enough packets to estimate the bit rate. */
const READ_PACKETS = 200;
const FALLBACK_BYTES_PER_SECOND = 8_000;

/** Reads only the beginning of a long file: its length is taken from there or, failing that, estimated. */
export async function listen(audio: Buffer): Promise<Hearing> {
  const { Input, BufferSource, ALL_FORMATS } = await loadMediaLibrary();
  const input = new Input({ source: new BufferSource(audio), formats: ALL_FORMATS });
  try {
    return { seconds: await lengthOf(input, audio.length), transcript: await tagOf(input) };
  } catch {
    return { seconds: audio.length / FALLBACK_BYTES_PER_SECOND, transcript: null };
  } finally {
    input.dispose();
  }
}

async function lengthOf(input: Input, totalBytes: number): Promise<number> {
  const known = totalBytes <= SHORT_BYTES ? await input.computeDuration() : await input.getDurationFromMetadata();
  if (known !== null) return known;
  const track = await input.getPrimaryAudioTrack();
  const { averageBitrate = 0 } = (await track?.computePacketStats(READ_PACKETS)) ?? {};
  return totalBytes / (averageBitrate > 0 ? averageBitrate / 8 : FALLBACK_BYTES_PER_SECOND);
}

async function tagOf(input: Input): Promise<string | null> {
  const { artist, comment, raw } = await input.getMetadataTags();
  if (artist !== MOCK_ARTIST || comment === undefined) return null;
  // Those of WAV files are always read as Latin-1.
  return (raw?.ICMT === undefined ? comment : Buffer.from(comment, 'latin1').toString('utf8')).trim();
}
