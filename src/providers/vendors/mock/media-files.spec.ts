import { decode, hasDecoder } from '../../../../test/harness/sound-decoder';
import {
  type AudioFormat,
  type AudioOptions,
  loadMediaLibrary,
  makeAudio,
  makeVideo,
  MUSIC_RATES,
  SPEECH_RATE,
  type VideoOptions,
} from './media-files';

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
    expect(found.tags.comment ?? TEXT).toContain(TEXT);
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

  it('states its duration in FLAC and WAV files', async () => {
    expect((await makeAudio(speech('flac'))).readUInt32BE(22) / SPEECH_RATE).toBeCloseTo(6.5, 1);
    const wav = await makeAudio(speech('wav'));
    expect(wav.readUInt32LE(4)).toBe(wav.length - 8);
  });
});

describe('music', () => {
  it.each(MUSIC_RATES)('has a rate of %d in every format', async (rate) => {
    for (const format of ['mp3', 'wav', 'flac'] as const) {
      const found = await inspect(await makeAudio(music(format, { sampleRate: rate })));
      expect(found.sampleRate).toBe(rate);
      expectSeconds(found.seconds, 3);
    }
  });
});

const FILM: VideoOptions = {
  prompt: 'A red fox',
  seconds: 1,
  resolution: '480p',
  aspectRatio: '16:9',
  audio: false,
  seed: 1,
};

async function inspectVideo(bytes: Buffer) {
  const { Input, BufferSource, ALL_FORMATS, EncodedPacketSink } = await loadMediaLibrary();
  using input = new Input({ source: new BufferSource(bytes), formats: ALL_FORMATS });
  const video = await input.getPrimaryVideoTrack();
  const audio = await input.getPrimaryAudioTrack();
  if (video === null) throw new Error('There is no picture.');
  const keys: number[] = [];
  const packets: Buffer[] = [];
  for await (const packet of new EncodedPacketSink(video).packets()) {
    packets.push(Buffer.from(packet.data));
    if (packet.type === 'key') keys.push(packet.timestamp);
  }
  return {
    mimeType: await input.getMimeType(),
    title: (await input.getMetadataTags()).title,
    seconds: await input.computeDuration(),
    width: await video.getDisplayWidth(),
    height: await video.getDisplayHeight(),
    sound: audio === null ? null : { codec: await audio.getCodec(), seconds: await audio.computeDuration() },
    packets,
    keys,
  };
}

describe('makeVideo', () => {
  it.each([
    ['480p', '16:9', 854, 480],
    ['480p', '9:16', 480, 854],
    ['480p', '1:1', 480, 480],
    ['720p', '16:9', 1280, 720],
    ['720p', '9:16', 720, 1280],
    ['720p', '1:1', 720, 720],
    ['1080p', '16:9', 1920, 1080],
    ['1080p', '9:16', 1080, 1920],
    ['1080p', '1:1', 1080, 1080],
    [null, null, 1280, 720],
    ['4K', 'wide', 1280, 720],
  ])('makes an MP4 of %s, %s', async (resolution, aspectRatio, width, height) => {
    const found = await inspectVideo(await makeVideo({ ...FILM, resolution, aspectRatio, seconds: 6 }));
    expect(found).toMatchObject({ seconds: 6, width, height, keys: [0, 1, 2, 3, 4, 5], sound: null });
    expect(found.mimeType).toMatch(/^video\/mp4; codecs="avc1\.[0-9a-f]{6}"$/i);
  });

  it('has an audio track, as long as the picture, on request', async () => {
    const { sound, seconds } = await inspectVideo(await makeVideo({ ...FILM, seconds: 2, audio: true }));
    expect(sound?.codec).toBe('aac');
    expect(Math.abs((sound?.seconds ?? 0) - 2)).toBeLessThan(0.1);
    expect(Math.abs(seconds - 2)).toBeLessThan(0.1);
  });

  it('has the prompt as title, and other pictures for another seed', async () => {
    const [one, same, other] = await Promise.all(
      [1, 1, 2].map(async (seed) => inspectVideo(await makeVideo({ ...FILM, seed }))),
    );
    expect(one?.title).toBe('A red fox');
    expect(same?.packets).toEqual(one?.packets);
    expect(other?.packets).not.toEqual(one?.packets);
  });

  it('has the requested duration, in whole frames', async () => {
    expect((await inspectVideo(await makeVideo({ ...FILM, seconds: 1.5 }))).packets).toHaveLength(36);
    expect((await inspectVideo(await makeVideo({ ...FILM, seconds: 120 }))).packets).toHaveLength(2_880);
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
