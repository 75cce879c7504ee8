import { Babble, SPEECH_RATE } from './babble';
import { type AudioFormat, encodeAudio, encodeWhole, type Recording } from './encode-audio';
import { canMakeMusic, makeMusic } from './make-music';
import { loadMediaLibrary } from './media-library';

const TEXT = 'Hello there, this is the mock speaking. Grüße aus İstanbul! ';
const CONTAINERS = ['wav', 'mp3', 'aac', 'flac', 'opus'] as const;

function speech(text: string, voice = 'alloy', speed = 1): Recording {
  const babble = new Babble(text, voice, speed);
  const { totalFrames } = babble;
  return { sampleRate: SPEECH_RATE, totalFrames, transcript: text.trim(), read: (count) => babble.read(count) };
}

async function look(bytes: Buffer) {
  const { Input, BufferSource, ALL_FORMATS } = await loadMediaLibrary();
  using input = new Input({ source: new BufferSource(bytes), formats: ALL_FORMATS });
  const track = await input.getPrimaryAudioTrack();
  return {
    mimeType: await input.getMimeType(),
    seconds: await input.computeDuration(),
    sampleRate: await track?.getSampleRate(),
    channels: await track?.getNumberOfChannels(),
    tags: await input.getMetadataTags(),
  };
}

function within(actual: number, wanted: number, share: number): void {
  expect(Math.abs(actual - wanted)).toBeLessThan(share * wanted);
}

describe('speech as a file', () => {
  it.each([
    ['wav', 'audio/wav', SPEECH_RATE],
    ['mp3', 'audio/mpeg', SPEECH_RATE],
    ['aac', 'audio/aac', SPEECH_RATE],
    ['flac', 'audio/flac', SPEECH_RATE],
    ['opus', 'audio/ogg; codecs="opus"', 48_000],
  ] as const)(
    'is a playable %s, as long as its text and with its text as a tag',
    async (format, mimeType, sampleRate) => {
      const found = await look(await encodeWhole(speech(TEXT), format));
      expect(found).toMatchObject({ mimeType, sampleRate, channels: 1 });
      within(found.seconds, TEXT.length / 14, 0.05);
      const { comment = '' } = found.tags;
      expect(format === 'wav' ? Buffer.from(comment, 'latin1').toString() : comment).toBe(TEXT.trim());
    },
  );

  it.each([...CONTAINERS])('contains audio even for one letter at the highest speed: %s', async (format) => {
    const { seconds } = await look(await encodeWhole(speech('a', 'alloy', 4), format));
    expect(seconds).toBeGreaterThan(0.01);
  });

  it('declares the encoder delay to Opus players', async () => {
    const ogg = await encodeWhole(speech('Hello'), 'opus');
    expect(ogg.readUInt16LE(ogg.indexOf('OpusHead') + 10)).toBe(312);
  });

  it('has 24,000 frames per second, 16 bits and one channel, as pcm', async () => {
    const recording = speech(TEXT);
    const bytes = await encodeWhole(recording, 'pcm');
    expect(bytes.length).toBe(2 * recording.totalFrames);
    const frames = new Int16Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
    const loudest = frames.reduce((most, frame) => Math.max(most, Math.abs(frame)), 0);
    expect(loudest).toBeGreaterThan(5_000);
    expect(loudest).toBeLessThan(20_000);
  });

  it.each([0.25, 2, 4])('is shorter the faster it is spoken: %d', (speed) => {
    const frames = speech(TEXT, 'alloy', speed).totalFrames;
    expect(frames).toBe(Math.ceil((TEXT.length * SPEECH_RATE) / (14 * speed)));
  });

  it('is the same for the same text and voice, and differs for others', async () => {
    const [one, same, voice, text] = await Promise.all([
      encodeWhole(speech('Hello'), 'pcm'),
      encodeWhole(speech('Hello'), 'pcm'),
      encodeWhole(speech('Hello', 'echo'), 'pcm'),
      encodeWhole(speech('Hullo'), 'pcm'),
    ]);
    expect(one.equals(same)).toBe(true);
    expect(one.equals(voice)).toBe(false);
    expect(one.equals(text)).toBe(false);
  });

  it('does not depend on the slice size', async () => {
    const whole = await encodeWhole(speech(TEXT), 'pcm');
    const parts: Buffer[] = [];
    for await (const part of encodeAudio(speech(TEXT), 'pcm', 20_000)) parts.push(part);
    expect(parts.length).toBeGreaterThan(3);
    within(Buffer.concat(parts).length, whole.length, 0.001);
  });

  it('states the length in FLAC and WAV files, although both are sent while they are written', async () => {
    const recording = speech(TEXT);
    const flac = await encodeWhole(recording, 'flac');
    expect(flac.readUInt32BE(22)).toBe(recording.totalFrames);
    const wav = await encodeWhole(speech(TEXT), 'wav');
    expect(wav.readUInt32LE(4)).toBe(wav.length - 8);
  });
});

describe('encodeAudio', () => {
  it.each<AudioFormat>([...CONTAINERS, 'pcm'])('yields %s in parts, long before the end', async (format) => {
    const sizes: number[] = [];
    for await (const part of encodeAudio(speech(TEXT), format, SPEECH_RATE / 2)) sizes.push(part.length);
    const total = sizes.reduce((sum, size) => sum + size, 0);
    const half = sizes.slice(0, Math.ceil(sizes.length / 2) + 1).reduce((sum, size) => sum + size, 0);
    expect(half).toBeGreaterThan(total / 4);
    expect(half).toBeLessThan(total);
  });

  it.each(CONTAINERS)('can be ended early: %s', async (format) => {
    const parts = encodeAudio(speech(TEXT), format, 1_000);
    await parts.next();
    await parts.return();
    expect(await parts.next()).toEqual({ done: true, value: undefined });
  });

  it('encodes a minute of mp3 in a few seconds of CPU time at most', async () => {
    const text = 'Fourteen char.'.repeat(60);
    await encodeWhole(speech('Warm up'), 'mp3');
    // A tenth of that on an idle machine; other processes compete for its caches.
    const before = process.threadCpuUsage();
    const bytes = await encodeWhole(speech(text), 'mp3');
    const { user, system } = process.threadCpuUsage(before);
    expect((user + system) / 1000).toBeLessThan(5_000);
    within((await look(bytes)).seconds, 60, 0.01);
  });
});

describe('makeMusic', () => {
  const song = { prompt: 'Rain on a tin roof', seconds: 3, sampleRate: null, seed: 1 };

  it.each([
    ['mp3', 'audio/mpeg'],
    ['wav', 'audio/wav'],
    ['flac', 'audio/flac'],
  ] as const)('makes a playable %s of the length asked for', async (format, type) => {
    const { bytes, contentType } = await makeMusic({ ...song, format });
    const found = await look(bytes);
    expect(contentType).toBe(type);
    expect(found).toMatchObject({ mimeType: type, sampleRate: 44_100 });
    within(found.seconds, 3, 0.05);
  });

  it('makes the same song for the same wish, and a different one for another prompt or seed', async () => {
    const make = async (wish: Partial<typeof song> = {}) =>
      (await makeMusic({ ...song, ...wish, format: 'wav' })).bytes;
    const [one, same, prompt, seed] = await Promise.all([make(), make(), make({ prompt: 'Sun' }), make({ seed: 2 })]);
    expect(one.equals(same)).toBe(true);
    expect(one.equals(prompt)).toBe(false);
    expect(one.equals(seed)).toBe(false);
  });

  it.each([8_000, 22_050, 48_000])('uses a rate of %d', async (sampleRate) => {
    for (const format of ['mp3', 'wav', 'flac'] as const) {
      expect(canMakeMusic({ format, sampleRate })).toBe(true);
      const found = await look((await makeMusic({ ...song, format, sampleRate })).bytes);
      expect(found.sampleRate).toBe(sampleRate);
      // Encoders pad their last block.
      within(found.seconds, 3, 0.07);
    }
  });

  it('refuses rates that a format does not support', () => {
    expect(canMakeMusic({ format: 'mp3', sampleRate: 96_000 })).toBe(false);
    expect(canMakeMusic({ format: 'mp3', sampleRate: 12_345 })).toBe(false);
    expect(canMakeMusic({ format: 'wav', sampleRate: 96_000 })).toBe(true);
    expect(canMakeMusic({ format: 'flac', sampleRate: 1 })).toBe(false);
    expect(canMakeMusic({ format: 'mp3', sampleRate: null })).toBe(true);
  });
});
