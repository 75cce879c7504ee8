import { decode, hasDecoder } from '../../../../../test/harness/sound-decoder';
import { type AudioFormat, type AudioOptions, isMusicRate, makeAudio, SPEECH_RATE, streamAudio } from './audio';
import { loadMediaLibrary } from './fixtures';

const TEXT = 'Grüße aus İstanbul!';
const CONTAINERS = ['wav', 'mp3', 'aac', 'flac', 'opus'] as const;

function speech(format: AudioFormat, fields: Partial<AudioOptions> = {}): AudioOptions {
  return { kind: 'speech', format, seconds: 6.5, sampleRate: SPEECH_RATE, seed: 1, transcript: TEXT, ...fields };
}

function music(format: AudioFormat, fields: Partial<AudioOptions> = {}): AudioOptions {
  return { kind: 'music', format, seconds: 3, sampleRate: 44_100, seed: 1, transcript: '', ...fields };
}

async function inspect(bytes: Buffer) {
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

/** Files end with a whole frame. */
function expectSeconds(actual: number, wanted: number): void {
  expect(Math.abs(actual - wanted)).toBeLessThan(0.08);
}

describe('speech', () => {
  it.each([
    ['wav', 'audio/wav', SPEECH_RATE],
    ['mp3', 'audio/mpeg', SPEECH_RATE],
    ['aac', 'audio/aac', SPEECH_RATE],
    ['flac', 'audio/flac', SPEECH_RATE],
    ['opus', 'audio/ogg; codecs="opus"', 48_000],
  ] as const)('is a %s file of the requested duration with its text as a tag', async (format, mimeType, sampleRate) => {
    const found = await inspect(await makeAudio(speech(format)));
    expect(found).toMatchObject({ mimeType, sampleRate, channels: 1 });
    expectSeconds(found.seconds, 6.5);
    const { comment = '' } = found.tags;
    expect(format === 'wav' ? Buffer.from(comment, 'latin1').toString() : comment).toContain(TEXT);
  });

  it.each(CONTAINERS)('contains audio even for one letter at the highest speed: %s', async (format) => {
    expect((await inspect(await makeAudio(speech(format, { seconds: 1 / 56 })))).seconds).toBeGreaterThan(0.01);
  });

  it('has 24,000 samples of two bytes per second as pcm, and is audible', async () => {
    const bytes = await makeAudio(speech('pcm'));
    expect(bytes.length).toBe(2 * 6.5 * SPEECH_RATE);
    const samples = Array.from({ length: bytes.length / 2 }, (_, at) => Math.abs(bytes.readInt16LE(2 * at)));
    expect(samples.reduce((most, sample) => Math.max(most, sample), 0)).toBeGreaterThan(5_000);
  });

  it('is the same for the same seed and differs for another', async () => {
    const [one, same, other] = await Promise.all([1, 1, 2].map((seed) => makeAudio(speech('mp3', { seed }))));
    expect(one?.equals(same as Buffer)).toBe(true);
    expect(one?.equals(other as Buffer)).toBe(false);
  });

  it.each<AudioFormat>([...CONTAINERS, 'pcm'])('yields %s in pieces, long before the end', async (format) => {
    const sizes: number[] = [];
    for await (const piece of streamAudio(speech(format), 0.5)) sizes.push(piece.length);
    const sum = (of: readonly number[]) => of.reduce((total, size) => total + size, 0);
    const half = sum(sizes.slice(0, Math.ceil(sizes.length / 2) + 1));
    expect(half).toBeGreaterThan(sum(sizes) / 4);
    expect(half).toBeLessThan(sum(sizes));
  });

  it.each(CONTAINERS)('can be ended early: %s', async (format) => {
    const pieces = streamAudio(speech(format), 0.1);
    await pieces.next();
    await pieces.return();
    expect(await pieces.next()).toEqual({ done: true, value: undefined });
  });

  it('states its duration in FLAC and WAV files, although both are sent while they are written', async () => {
    expect((await makeAudio(speech('flac'))).readUInt32BE(22) / SPEECH_RATE).toBeCloseTo(6.5, 1);
    const wav = await makeAudio(speech('wav'));
    expect(wav.readUInt32LE(4)).toBe(wav.length - 8);
  });
});

describe('music', () => {
  it.each([16_000, 22_050, 24_000, 32_000, 44_100, 48_000])('has a rate of %d in every format', async (rate) => {
    expect(isMusicRate(rate)).toBe(true);
    for (const format of ['mp3', 'wav', 'flac'] as const) {
      const found = await inspect(await makeAudio(music(format, { sampleRate: rate })));
      expect(found.sampleRate).toBe(rate);
      expectSeconds(found.seconds, 3);
    }
  });
});

(hasDecoder ? describe : describe.skip)('a decoder', () => {
  it.each(CONTAINERS)('plays all of a %s file without errors', async (format) => {
    const played = decode(await makeAudio(speech(format)), format);
    expect(played.isDamaged).toBe(false);
    expectSeconds(played.seconds, 6.5);
  });
});

it('a minute of mp3 takes less than a second of CPU time', async () => {
  const before = process.threadCpuUsage();
  await makeAudio(speech('mp3', { seconds: 60 }));
  const { user, system } = process.threadCpuUsage(before);
  expect((user + system) / 1_000).toBeLessThan(1_000);
});
