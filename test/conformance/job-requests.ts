import type { MusicSpec, VideoSpec } from '../../src/providers/contract/media-job';

/** A short video from a prompt; tests override what they are about. */
export function videoSpec(overrides: Partial<VideoSpec> = {}): VideoSpec {
  return {
    kind: 'video',
    prompt: 'a lighthouse',
    durationSeconds: 1,
    resolution: '480p',
    aspectRatio: null,
    audio: false,
    firstFrame: null,
    lastFrame: null,
    references: [],
    ...overrides,
  };
}

/** A second of music as WAV, which is the quickest to make. */
export function musicSpec(overrides: Partial<MusicSpec> = {}): MusicSpec {
  return {
    kind: 'music',
    prompt: 'a sea shanty',
    durationSeconds: 1,
    format: 'wav',
    sampleRate: null,
    instrumental: false,
    ...overrides,
  };
}
