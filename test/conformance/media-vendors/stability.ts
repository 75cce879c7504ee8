/** Stability AI: https://platform.stability.ai/docs/api-reference. */
import type { Answer } from '../fake-upstream';
import { json, tinyPng } from '../media-answers';
import { imageRequest } from '../media-requests';
import { type MediaWire, NOT_JSON, PNG } from '../media-uses';

function refusal(status: number, name: string, message: string): Answer {
  return json({ id: '21c6', name, errors: [message] }, status);
}

const COMMON = {
  happy: json({ image: tinyPng().toString('base64'), seed: 1, finish_reason: 'SUCCESS' }),
  delivers: { images: [{ bytes: tinyPng(), revisedPrompt: null }], usage: null },
  broken: {
    ...NOT_JSON,
    'no image': json({ seed: 1, finish_reason: 'SUCCESS' }),
    'wrong base64': json({ image: '????', finish_reason: 'SUCCESS' }),
    'something other than an image': json({ image: 'YSB0ZXh0', finish_reason: 'SUCCESS' }),
  },
} as const;

export const STABILITY_MEDIA: MediaWire = {
  uses: [
    {
      ...COMMON,
      name: 'images',
      capability: 'images',
      targets: ['/v1/stable-image/generate/upstream-model'],
      run: ({ images }, call) => images?.generate(imageRequest(), call),
    },
    {
      ...COMMON,
      name: 'masked edits',
      capability: 'images',
      targets: ['/v1/stable-image/edit/inpaint'],
      namesNoModel: true,
      run: ({ images }, call) =>
        images?.generate(imageRequest({ images: [PNG], mask: PNG }), { ...call, upstreamModel: 'inpaint' }),
    },
  ],
  invalid: refusal(400, 'bad_request', 'prompt: is too long'),
  moderated: refusal(403, 'content_moderation', 'Your request was flagged by our content moderation system.'),
  keyRefused: refusal(401, 'unauthorized', 'missing or invalid api key'),
  leaking: (message) => refusal(400, 'bad_request', message),
};
