import { loadMediaLibrary } from './fixtures';
import { makeVideo, type VideoOptions } from './video';

const OPTIONS: VideoOptions = {
  prompt: 'A red fox',
  seconds: 1,
  resolution: '480p',
  aspectRatio: '16:9',
  audio: false,
  seed: 1,
};

async function inspect(bytes: Buffer) {
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
    const found = await inspect(await makeVideo({ ...OPTIONS, resolution, aspectRatio, seconds: 6 }));
    expect(found).toMatchObject({ seconds: 6, width, height, keys: [0, 1, 2, 3, 4, 5], sound: null });
    expect(found.mimeType).toMatch(/^video\/mp4; codecs="avc1\.[0-9a-f]{6}"$/i);
  });

  it('has an audio track, as long as the picture, on request', async () => {
    const { sound, seconds } = await inspect(await makeVideo({ ...OPTIONS, seconds: 2, audio: true }));
    expect(sound?.codec).toBe('aac');
    expect(Math.abs((sound?.seconds ?? 0) - 2)).toBeLessThan(0.1);
    expect(Math.abs(seconds - 2)).toBeLessThan(0.1);
  });

  it('has the prompt as title, and other pictures for another seed', async () => {
    const [one, same, other] = await Promise.all(
      [1, 1, 2].map(async (seed) => inspect(await makeVideo({ ...OPTIONS, seed }))),
    );
    expect(one?.title).toBe('A red fox');
    expect(same?.packets).toEqual(one?.packets);
    expect(other?.packets).not.toEqual(one?.packets);
  });

  it('has the requested duration, in whole frames', async () => {
    expect((await inspect(await makeVideo({ ...OPTIONS, seconds: 1.5 }))).packets).toHaveLength(36);
    expect((await inspect(await makeVideo({ ...OPTIONS, seconds: 120 }))).packets).toHaveLength(2_880);
  });
});
