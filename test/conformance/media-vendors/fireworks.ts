/** Fireworks: https://docs.fireworks.ai/api-reference/generate-a-new-image-from-a-text-prompt. */
import { json, tinyPng } from '../media-answers';
import { imageRequest } from '../media-requests';
import { type MediaWire, NOT_JSON, OPENAI_MEDIA } from '../media-uses';

const IMAGE = `data:image/png;base64,${tinyPng().toString('base64')}`;
const { invalid, keyRefused, leaking } = OPENAI_MEDIA;

export const FIREWORKS_MEDIA: MediaWire = {
  uses: [
    {
      name: 'images',
      capability: 'images',
      targets: ['/v1/workflows/upstream-model/text_to_image'],
      happy: json({ id: '1', base64: [IMAGE], finishReason: 'SUCCESS', seed: 1 }),
      delivers: { images: [{ bytes: tinyPng(), revisedPrompt: null }], usage: null },
      broken: {
        ...NOT_JSON,
        'no images': json({ id: '1', base64: [], finishReason: 'SUCCESS' }),
        'something other than an image': json({ base64: ['data:image/png;base64,YSB0ZXh0'] }),
      },
      run: ({ images }, call) => images?.generate(imageRequest(), call),
    },
  ],
  invalid,
  keyRefused,
  leaking,
  moderated: json({ id: '1', base64: [], finishReason: 'CONTENT_FILTERED', seed: 1 }),
};
