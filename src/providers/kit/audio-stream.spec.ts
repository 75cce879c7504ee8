import type { SpeechFormat } from '../contract/speech';
import { contradictsFormat } from './audio-stream';

describe('contradictsFormat', () => {
  const beginnings: Readonly<Record<string, Buffer>> = {
    wav: Buffer.from('RIFF....WAVEfmt '),
    opus: Buffer.from('OggS....'),
    flac: Buffer.from('fLaC....'),
    mp3: Buffer.from([0xff, 0xfb, 0x90, 0x64]),
    aac: Buffer.from([0xff, 0xf1, 0x50, 0x80]),
  };

  it.each(Object.keys(beginnings) as SpeechFormat[])('distinguishes %s from all other formats', (format) => {
    const taken = Object.entries(beginnings).filter(([, bytes]) => !contradictsFormat(format, bytes));
    expect(taken.map(([name]) => name)).toEqual([format]);
  });

  it('accepts unknown bytes and loud samples', () => {
    expect(contradictsFormat('opus', Buffer.from([0x1a, 0x45, 0xdf, 0xa3]))).toBe(false);
    expect(contradictsFormat('wav', Buffer.from('R'))).toBe(false);
    expect(contradictsFormat('pcm', Buffer.from([0xff, 0xfb, 0xff, 0xff]))).toBe(false);
    expect(contradictsFormat('pcm', Buffer.from('RIFF....WAVE'))).toBe(true);
    expect(contradictsFormat('aac', Buffer.from('....ftypM4A '))).toBe(false);
    expect(contradictsFormat('mp3', Buffer.from('ID3'))).toBe(false);
    expect(contradictsFormat('aac', Buffer.from('ID3'))).toBe(false);
    expect(contradictsFormat('wav', Buffer.from('ID3'))).toBe(true);
  });
});
