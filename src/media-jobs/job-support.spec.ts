import type { MediaSupport } from '../models/catalog-model';
import { musicSettings, type RequestedMusic, videoSettings, type RequestedVideo } from './job-support';

const FULL: MediaSupport = {
  durations: [4, 8, 12],
  resolutions: ['720p', '1080p'],
  aspect_ratios: ['16:9', '9:16'],
  audio: 'optional',
  first_frame: true,
  last_frame: true,
  references: true,
  formats: ['mp3', 'wav'],
  sample_rates: [44_100, 48_000],
};

const video = (requested: RequestedVideo, media: MediaSupport | null = FULL) =>
  videoSettings({ id: 'a/b', media }, requested);
const music = (requested: RequestedMusic, media: MediaSupport | null = FULL) =>
  musicSettings({ id: 'a/b', media }, requested);
const refusal = (param: string) => expect.objectContaining({ code: 'validation_failed', param });

describe('videoSettings', () => {
  it('keeps supported options unchanged', () => {
    const requested = {
      duration_seconds: 8,
      resolution: '1080p',
      aspect_ratio: '9:16',
      audio: true,
      image_url: 'https://example.com/a.png',
      end_image_url: 'https://example.com/b.png',
      input_images: ['https://example.com/c.png'],
    };
    expect(video(requested)).toEqual({ durationSeconds: 8, resolution: '1080p', aspectRatio: '9:16', audio: true });
  });

  it('defaults to the first supported option, so that price and provider use the same settings', () => {
    const defaults = { durationSeconds: 4, resolution: '720p', aspectRatio: null, audio: false };
    expect(video({})).toEqual(defaults);
    expect(
      video({
        duration_seconds: null,
        resolution: null,
        aspect_ratio: null,
        audio: null,
        image_url: null,
        end_image_url: null,
        input_images: null,
      }),
    ).toEqual(defaults);
  });

  it.each<[string, RequestedVideo]>([
    ['duration_seconds', { duration_seconds: 5 }],
    ['duration_seconds', { duration_seconds: 8.5 }],
    ['resolution', { resolution: '480p' }],
    ['aspect_ratio', { aspect_ratio: '1:1' }],
  ])('rejects an unsupported %s and lists the supported values', (param, requested) => {
    expect(() => video(requested)).toThrow(refusal(param));
    expect(() => video(requested)).toThrow(expect.objectContaining({ details: { supported: expect.any(Array) } }));
  });

  it.each<[string, RequestedVideo]>([
    ['resolution', { resolution: '720p' }],
    ['aspect_ratio', { aspect_ratio: '16:9' }],
    ['audio', { audio: true }],
    ['image_url', { image_url: 'https://example.com/a.png' }],
    ['end_image_url', { end_image_url: 'https://example.com/a.png' }],
    ['input_images', { input_images: ['https://example.com/a.png'] }],
  ])('rejects %s when the catalogue lists no support for it', (param, requested) => {
    expect(() => video(requested, {})).toThrow(refusal(param));
    expect(() => video(requested, null)).toThrow(refusal(param));
  });

  it.each([
    ['always', null, true],
    ['always', true, true],
    ['optional', null, false],
    ['optional', false, false],
    ['optional', true, true],
    ['never', null, false],
    ['never', false, false],
    [undefined, null, false],
    [undefined, false, false],
  ] as const)('with audio support %p and request %p resolves to %p', (support, audio, settled) => {
    expect(video({ audio }, support === undefined ? {} : { audio: support }).audio).toBe(settled);
  });

  it.each([
    ['always', false],
    ['never', true],
    [undefined, true],
  ] as const)('with audio support %p rejects a request for %p', (support, audio) => {
    expect(() => video({ audio }, support === undefined ? {} : { audio: support })).toThrow(refusal('audio'));
  });
});

describe('a duration', () => {
  const between = (durations: MediaSupport['durations'], wanted?: number) =>
    video({ duration_seconds: wanted ?? null }, { durations }).durationSeconds;

  it.each([
    [{ min: 2, max: 10 }, 2],
    [{ min: 2, max: 10 }, 10],
    [{ min: 2, max: 10 }, 5.25],
    [{ min: 2, max: 10, step: 4 }, 6],
    [{ min: 2, max: 10, step: 4 }, 10],
  ])('of %o allows %d seconds', (durations, wanted) => {
    expect(between(durations, wanted)).toBe(wanted);
  });

  it.each([
    [{ min: 2, max: 10 }, 1.999],
    [{ min: 2, max: 10 }, 10.001],
    [{ min: 2, max: 10, step: 4 }, 4],
    [{ min: 2, max: 10, step: 1 }, 2.5],
  ])('of %o rejects %d seconds without rounding', (durations, wanted) => {
    expect(() => between(durations, wanted)).toThrow(refusal('duration_seconds'));
    expect(() => between(durations, wanted)).toThrow(expect.objectContaining({ details: { supported: durations } }));
  });

  it.each([
    [{ min: 1, max: 120 }, 5],
    [{ min: 6, max: 10 }, 6],
    [{ min: 1, max: 3 }, 3],
    [{ min: 2, max: 20, step: 2 }, 4],
    [undefined, 5],
  ])('of %o defaults to %d seconds', (durations, usual) => {
    expect(between(durations)).toBe(usual);
  });
});

describe('musicSettings', () => {
  it('keeps supported options and fills in defaults', () => {
    expect(music({ duration_seconds: 12, format: 'wav', sample_rate: 48_000, instrumental: true })).toEqual({
      durationSeconds: 12,
      format: 'wav',
      sampleRate: 48_000,
      instrumental: true,
    });
    expect(music({})).toEqual({ durationSeconds: 4, format: 'mp3', sampleRate: null, instrumental: false });
    expect(music({}, null)).toEqual({ durationSeconds: 30, format: null, sampleRate: null, instrumental: false });
  });

  it.each<[string, RequestedMusic]>([
    ['duration_seconds', { duration_seconds: 13 }],
    ['format', { format: 'flac' }],
    ['sample_rate', { sample_rate: 96_000 }],
  ])('rejects an unsupported %s', (param, requested) => {
    expect(() => music(requested)).toThrow(refusal(param));
  });
});
