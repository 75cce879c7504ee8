import type { Input } from 'mediabunny';
import { TRANSCRIPT_MARK } from './audio';
import { loadMediaLibrary } from './fixtures';

interface MeasuredAudio {
  readonly seconds: number;
  /** The transcript tag of the mock's own files; `null` for all others. */
  readonly transcript: string | null;
}

/** Files up to this size are read completely. */
const SHORT_BYTES = 1_048_576;
/** Enough packets to estimate the bit rate. */
const READ_PACKETS = 200;
const FALLBACK_BYTES_PER_SECOND = 8_000;

/** Reads only the beginning of a long file: its duration is taken from there or, failing that, estimated. */
export async function measureAudio(audio: Buffer): Promise<MeasuredAudio> {
  const { Input, BufferSource, ALL_FORMATS } = await loadMediaLibrary();
  using input = new Input({ source: new BufferSource(audio), formats: ALL_FORMATS });
  try {
    return { seconds: await durationOf(input, audio.length), transcript: await transcriptOf(input) };
  } catch {
    return { seconds: audio.length / FALLBACK_BYTES_PER_SECOND, transcript: null };
  }
}

async function durationOf(input: Input, totalBytes: number): Promise<number> {
  const known = totalBytes <= SHORT_BYTES ? await input.computeDuration() : await input.getDurationFromMetadata();
  if (known !== null) return known;
  const track = await input.getPrimaryAudioTrack();
  const { averageBitrate = 0 } = (await track?.computePacketStats(READ_PACKETS)) ?? {};
  return totalBytes / (averageBitrate > 0 ? averageBitrate / 8 : FALLBACK_BYTES_PER_SECOND);
}

async function transcriptOf(input: Input): Promise<string | null> {
  const { comment = '', raw } = await input.getMetadataTags();
  // Those of WAV files are always read as Latin-1.
  const text = raw?.ICMT === undefined ? comment : Buffer.from(comment, 'latin1').toString('utf8');
  return text.startsWith(TRANSCRIPT_MARK) ? text.slice(TRANSCRIPT_MARK.length).trim() : null;
}
