import { loadMediaLibrary, readTrack, repeatPackets } from './fixtures';

/** A requested film. */
export interface VideoOptions {
  readonly prompt: string;
  readonly seconds: number;
  /** `480p`, `720p` or `1080p`; `null` or another word: `720p`. */
  readonly resolution: string | null;
  /** `16:9`, `9:16` or `1:1`; `null` or another word: `16:9`. */
  readonly aspectRatio: string | null;
  /** Whether it has an audio track. */
  readonly audio: boolean;
  /** Selects the first scene. */
  readonly seed: number;
}

const SIZES: ReadonlyMap<string, string> = new Map([
  ['480p 16:9', '854x480'],
  ['480p 9:16', '480x854'],
  ['480p 1:1', '480x480'],
  ['720p 16:9', '1280x720'],
  ['720p 9:16', '720x1280'],
  ['720p 1:1', '720x720'],
  ['1080p 16:9', '1920x1080'],
  ['1080p 9:16', '1080x1920'],
  ['1080p 1:1', '1080x1080'],
]);
const RESOLUTIONS = ['480p', '720p', '1080p'];
const RATIOS = ['16:9', '9:16', '1:1'];
const FRAMES_PER_SCENE = 24;

/** A playable MP4 file that repeats the scenes of a fixture, with the prompt as its title. */
export async function makeVideo(options: VideoOptions): Promise<Buffer> {
  const { prompt, seconds, audio, seed } = options;
  const media = await loadMediaLibrary();
  const target = new media.BufferTarget();
  const output = new media.Output({ format: new media.Mp4OutputFormat({ fastStart: 'in-memory' }), target });
  if (prompt !== '') output.setMetadataTags({ title: prompt });
  const pictures = new media.EncodedVideoPacketSource('avc');
  const sound = new media.EncodedAudioPacketSource('aac');
  output.addVideoTrack(pictures, { frameRate: FRAMES_PER_SCENE });
  if (audio) output.addAudioTrack(sound);
  await output.start();
  const scenes = await readTrack(`video-${sizeOf(options)}.mp4`);
  const video = { decoderConfig: scenes.decoderConfig as VideoDecoderConfig };
  for await (const packet of repeatPackets(scenes, seconds, FRAMES_PER_SCENE * seed)) await pictures.add(packet, video);
  pictures.close();
  if (audio) await addSpeech();
  await output.finalize();
  return Buffer.from(target.buffer ?? new ArrayBuffer(0));

  async function addSpeech(): Promise<void> {
    const speech = await readTrack('speech.aac');
    const config = { decoderConfig: speech.decoderConfig as AudioDecoderConfig };
    for await (const packet of repeatPackets(speech, seconds, 0)) await sound.add(packet, config);
  }
}

function sizeOf({ resolution, aspectRatio }: VideoOptions): string {
  const height = RESOLUTIONS.find((each) => each === resolution) ?? '720p';
  const ratio = RATIOS.find((each) => each === aspectRatio) ?? '16:9';
  return String(SIZES.get(`${height} ${ratio}`));
}
