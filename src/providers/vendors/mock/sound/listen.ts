import type { Input } from 'mediabunny';
import { MOCK_ARTIST } from './encode-audio';
import { loadMediaLibrary } from './media-library';

/** What the mock hears in a file. */
export interface Hearing {
  readonly seconds: number;
  /** The words that a file of the mock's own says it holds; `null` for all others. */
  readonly transcript: string | null;
}

/** A file that is short enough to be read to its end. */
const SHORT_BYTES = 1_048_576;
/** Enough to tell how many bits a second are. */
const READ_PACKETS = 200;
const FALLBACK_BYTES_PER_SECOND = 8_000;

/** Reads the beginning of a long file only: its length is what that says or, failing that, what it suggests. */
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
