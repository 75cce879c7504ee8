/** Bodies of video and music jobs, good ones and bad ones, in places where the derived ones do not reach. */
const PROMPT_CHARACTERS = 10_000;
const HOOK = 'https://hooks.example/a';
const entries = (count: number): object => Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, '']));

const common: readonly object[] = [
  ...[-1, 0, 1].flatMap((more) =>
    ['a', '😀', '\uD83D', '\uFE0F'].map((character) => ({ prompt: character.repeat(PROMPT_CHARACTERS + more) })),
  ),
  ...[0, 0.99, 1, 1.5, 120, 120.01, 121, 600, 600.5, 601, -1, '5', null].map((duration_seconds) => ({
    duration_seconds,
  })),
  ...[
    HOOK,
    'HTTPS://a',
    'https://',
    'https:///a',
    'https:// a',
    'https://a b',
    'http://a.example',
    '',
    1,
    null,
  ].flatMap((url) => [{ webhook_url: url }, { image_url: url }, { end_image_url: url }]),
  ...[2_047, 2_048, 2_049].map((length) => ({ webhook_url: `${HOOK}${'a'.repeat(length - HOOK.length)}` })),
  ...[0, 63, 64, 65].map((count) => ({ metadata: entries(count) })),
  ...[511, 512, 513].flatMap((length) => ['a', '😀'].map((text) => ({ metadata: { key: text.repeat(length) } }))),
  ...[63, 64, 65].flatMap((length) => ['a', '😀'].map((text) => ({ metadata: { [text.repeat(length)]: 'a' } }))),
  ...[{ a: 1 }, { a: null }, [], ['a'], 'a', null, { '': '' }].map((metadata) => ({ metadata })),
  ...[-1, 0, 1.5, Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER + 1, '1', null].map((max_cost_micro) => ({
    max_cost_micro,
  })),
];

const videos: readonly object[] = [
  ...['16:9', '1:1', '9999:1', '10000:1', '0:1', '1:0', '01:1', '16x9', '16:9 ', '16:9\n', '16:', ':9', '', null].map(
    (aspect_ratio) => ({ aspect_ratio }),
  ),
  ...[0, 10, 11].map((count) => ({ input_images: Array<string>(count).fill('https://a.example/a.png') })),
  ...['https://a', 'data:image/png;base64,AAAA', 'data:text/plain,a', 'A'.repeat(16), 'A'.repeat(15), 1, null].map(
    (image) => ({ input_images: [image] }),
  ),
  ...['720p', '', 720, null].map((resolution) => ({ resolution })),
  ...[true, false, 'true', null].map((audio) => ({ audio })),
];

const music: readonly object[] = [
  ...['mp3', 'wav', 'flac', 'MP3', 'ogg', '', null].map((format) => ({ format })),
  ...[0, 1, 44_100, 44_100.5, 768_000, 768_001, '44100', null].map((sample_rate) => ({ sample_rate })),
  ...[true, false, 0, null].map((instrumental) => ({ instrumental })),
];

export const VIDEO_BODIES = [...common, ...videos].map((fields) => ({ model: 'mock/video-1', prompt: 'a', ...fields }));
export const MUSIC_BODIES = [...common, ...music].map((fields) => ({ model: 'mock/music-1', prompt: 'a', ...fields }));
