import type { SpeechFormat } from '../../contract/speech';

const MPEG_SYNC = 0xe0;
const LAYER_BITS = 0x06;

/**
 * Whether the first bytes of the audio contradict the requested format. Some hosts always send their only format, which
 * a player that trusts the content type cannot play. Unknown bytes are accepted.
 */
export function contradictsFormat(format: SpeechFormat, sound: Buffer): boolean {
  // The tag may precede frames of either format.
  if (sound.toString('latin1', 0, 3) === 'ID3') return format !== 'mp3' && format !== 'aac';
  const found = nameFormat(sound) ?? (format === 'pcm' ? null : nameFrames(sound));
  return found !== null && found !== format;
}

/** By a signature that raw samples are very unlikely to contain. */
function nameFormat(sound: Buffer): SpeechFormat | null {
  const head = sound.toString('latin1', 0, 12);
  if (head.startsWith('RIFF') && head.endsWith('WAVE')) return 'wav';
  if (head.startsWith('OggS')) return 'opus';
  return head.startsWith('fLaC') ? 'flac' : null;
}

/** By the first frame: MP3 and AAC share the sync word, and AAC has no layer. */
function nameFrames(sound: Buffer): SpeechFormat | null {
  const [first, second] = sound;
  if (first !== 0xff || second === undefined || (second & MPEG_SYNC) !== MPEG_SYNC) return null;
  return (second & LAYER_BITS) === 0 ? 'aac' : 'mp3';
}
