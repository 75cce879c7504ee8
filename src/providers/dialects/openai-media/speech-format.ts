import type { SpeechFormat } from '../../contract/speech';

const MPEG_SYNC = 0xe0;
const LAYER_BITS = 0x06;

/**
 * Whether sound is in another format than was asked for, by its first bytes. Some hosts have one format only and send that
 * whatever they are asked; a player that goes by the name of the type cannot play it. What is not known is believed.
 */
export function contradictsFormat(format: SpeechFormat, sound: Buffer): boolean {
  // The tag may stand before frames of either.
  if (sound.toString('latin1', 0, 3) === 'ID3') return format !== 'mp3' && format !== 'aac';
  const found = nameFormat(sound) ?? (format === 'pcm' ? null : nameFrames(sound));
  return found !== null && found !== format;
}

/** By a signature, which samples without a header do not have by chance. */
function nameFormat(sound: Buffer): SpeechFormat | null {
  const head = sound.toString('latin1', 0, 12);
  if (head.startsWith('RIFF') && head.endsWith('WAVE')) return 'wav';
  if (head.startsWith('OggS')) return 'opus';
  return head.startsWith('fLaC') ? 'flac' : null;
}

/** By the first frame: MP3 and AAC share the mark of its beginning, and AAC has no layer. */
function nameFrames(sound: Buffer): SpeechFormat | null {
  const [first, second] = sound;
  if (first !== 0xff || second === undefined || (second & MPEG_SYNC) !== MPEG_SYNC) return null;
  return (second & LAYER_BITS) === 0 ? 'aac' : 'mp3';
}
