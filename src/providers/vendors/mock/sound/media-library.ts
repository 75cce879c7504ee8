/** Writes audio and video files: megabytes of code, hence loaded when the first file is made. */
type MediaLibrary = typeof import('mediabunny');

let library: Promise<MediaLibrary> | undefined;

export function loadMediaLibrary(): Promise<MediaLibrary> {
  library ??= load();
  return library;
}

/** Its encoders for MP3, AAC and FLAC run in separate threads. */
async function load(): Promise<MediaLibrary> {
  const [mediabunny, { registerMp3Encoder }, { registerAacEncoder }, { registerFlacEncoder }] = await Promise.all([
    import('mediabunny'),
    import('@mediabunny/mp3-encoder'),
    import('@mediabunny/aac-encoder'),
    import('@mediabunny/flac-encoder'),
  ]);
  registerMp3Encoder();
  registerAacEncoder();
  registerFlacEncoder();
  return mediabunny;
}
