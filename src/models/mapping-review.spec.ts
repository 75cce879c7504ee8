import { type MappedModel, missingMappings } from './mapping-review';

const VIDEO: MappedModel = {
  modality: 'video',
  features: {},
  media: { durations: [5], resolutions: ['720p', '1080p'], audio: 'optional', first_frame: true, references: true },
};
const map = { prompt: 'prompt', resolution: 'resolution', audio: 'generate_audio' };
const output = { video: '$.video.url' };

describe('the review of a mapping', () => {
  it('reports every option of the model that has no mapping, and a missing result', () => {
    expect(missingMappings(VIDEO, { map: {}, output: {} })).toEqual([
      'map.prompt',
      'map.resolution',
      'map.audio',
      'map.image_url',
      'map.input_images',
      'output.video',
    ]);
  });

  it('accepts a deployment that its conditions keep from other requests', () => {
    expect(missingMappings(VIDEO, { map, output }, { image: false, references: false })).toEqual([]);
    expect(missingMappings(VIDEO, { map: { ...map, image_url: 'image' }, output }, { references: false })).toEqual([]);
  });

  it('needs no field for the formats of speech that the gateway makes, as it does for those of music', () => {
    const formats = { media: { formats: ['mp3', 'wav'] }, features: {} };
    const made = { map: { input: 'a', prompt: 'a' }, output: { audio: '$.a', audio_format: 'wav' } } as const;
    expect(missingMappings({ modality: 'speech', ...formats }, made)).toEqual([]);
    expect(missingMappings({ modality: 'music', ...formats }, made)).toEqual(['map.format']);
  });

  it.each<[MappedModel, string[]]>([
    [{ modality: 'image', features: { edit: true, mask: true } }, ['map.prompt', 'map.input_images', 'map.mask']],
    [
      { modality: 'music', features: {}, media: { durations: { min: 1, max: 9 } } },
      ['map.prompt', 'map.duration_seconds'],
    ],
    [{ modality: 'speech', features: {}, media: { voices: ['a', 'b'], formats: ['mp3'] } }, ['map.input', 'map.voice']],
  ])('knows the options of each modality: %j', (model, missing) => {
    expect(missingMappings(model, { map: {}, output: { image: '$.a', audio: '$.a' } })).toEqual(missing);
  });
});
