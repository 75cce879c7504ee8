import { loadMediaLibrary } from '../sound/media-library';
import { makeVideo, type VideoWish } from './make-video';
import { videoSize } from './video-size';

const WISH: VideoWish = { prompt: 'A red fox', seconds: 1, width: 320, height: 180, audio: false, seed: 1 };

async function look(bytes: Buffer) {
  const { Input, BufferSource, ALL_FORMATS, EncodedPacketSink } = await loadMediaLibrary();
  using input = new Input({ source: new BufferSource(bytes), formats: ALL_FORMATS });
  const video = await input.getPrimaryVideoTrack();
  const audio = await input.getPrimaryAudioTrack();
  if (video === null) throw new Error('There is no picture.');
  const keys: number[] = [];
  let frames = 0;
  for await (const packet of new EncodedPacketSink(video).packets()) {
    frames += 1;
    if (packet.type === 'key') keys.push(packet.timestamp);
  }
  return {
    mimeType: await input.getMimeType(),
    seconds: await input.computeDuration(),
    width: await video.getDisplayWidth(),
    height: await video.getDisplayHeight(),
    sound: audio === null ? null : { codec: await audio.getCodec(), seconds: await audio.computeDuration() },
    frames,
    keys,
  };
}

describe('makeVideo', () => {
  it.each([
    ['480p', '16:9', 854, 480],
    ['720p', '16:9', 1280, 720],
    ['720p', '9:16', 720, 1280],
    ['1080p', '1:1', 1080, 1080],
  ])('makes a playable MP4 of %s, %s', async (resolution, ratio, width, height) => {
    const size = videoSize(resolution, ratio);
    expect(size).toEqual({ width, height });
    const found = await look(await makeVideo({ ...WISH, ...size, seconds: 3 }));
    expect(found).toMatchObject({ seconds: 3, width, height, frames: 72, keys: [0, 2], sound: null });
    expect(found.mimeType).toMatch(/^video\/mp4; codecs="avc1\.42c028"$/i);
  });

  it('has an audio track, as long as the picture, on request', async () => {
    const { sound, seconds } = await look(await makeVideo({ ...WISH, seconds: 2, audio: true }));
    expect(sound?.codec).toBe('aac');
    expect(Math.abs((sound?.seconds ?? 0) - 2)).toBeLessThan(0.1);
    expect(Math.abs(seconds - 2)).toBeLessThan(0.1);
  });

  it('makes the same film for the same wish, and a different one for another prompt or seed', async () => {
    const [one, same, prompt, seed] = await Promise.all([
      makeVideo(WISH),
      makeVideo(WISH),
      makeVideo({ ...WISH, prompt: 'A red dog' }),
      makeVideo({ ...WISH, seed: 2 }),
    ]);
    expect(one.equals(same)).toBe(true);
    expect(one.equals(prompt)).toBe(false);
    expect(one.equals(seed)).toBe(false);
  });

  it('has the requested length, in whole frames', async () => {
    expect((await look(await makeVideo({ ...WISH, seconds: 1.5 }))).frames).toBe(36);
    expect((await look(await makeVideo({ ...WISH, seconds: 0.01 }))).frames).toBe(1);
  });

  it('needs a few seconds of CPU time and 3 MiB for ten seconds, and yields after each frame', async () => {
    const size = videoSize('720p', '16:9');
    await makeVideo({ ...WISH, ...size });
    let iterations = 0;
    let watching = true;
    const count = () => {
      iterations += 1;
      if (watching) setImmediate(count);
    };
    setImmediate(count);
    const before = process.threadCpuUsage();
    const bytes = await makeVideo({ ...WISH, ...size, seconds: 10 });
    const { user, system } = process.threadCpuUsage(before);
    watching = false;
    expect((user + system) / 1000).toBeLessThan(5_000);
    expect(bytes.length).toBeLessThan(3 * 1_048_576);
    expect(iterations).toBeGreaterThanOrEqual(240);
  });
});

describe('videoSize', () => {
  it.each([
    [null, null, 1280, 720],
    ['1080p', '16:9', 1920, 1080],
    ['1080p', '9:16', 1080, 1920],
    ['480p', '4:3', 640, 480],
    ['4K', 'wide', 1280, 720],
  ])('of %s, %s', (resolution, ratio, width, height) => {
    expect(videoSize(resolution, ratio)).toEqual({ width, height });
  });
});
