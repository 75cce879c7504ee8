/** Ideogram: https://developer.ideogram.ai/api-reference/api-reference/generate-v3. */
import type { Answer } from '../fake-upstream';
import { json } from '../media-answers';
import { imageRequest } from '../media-requests';
import { type MediaWire, NOT_JSON, PNG } from '../media-uses';

const ADDRESS = 'https://ideogram.ai/api/images/ephemeral/xtdZiqPwRxqY1Y7NExFmzB.png?exp=1743867804';

function made(image: object): Answer {
  return json({ created: '2026-11-23T00:00:00Z', data: [{ prompt: 'a lighthouse', seed: 12_345, ...image }] });
}

function refusal(status: number, error: string): Answer {
  return json({ error }, status);
}

const COMMON = {
  happy: made({ url: ADDRESS, resolution: '1024x1024', is_image_safe: true, style_type: 'GENERAL' }),
  delivers: { images: [{ url: ADDRESS, revisedPrompt: null }], usage: null },
  broken: {
    ...NOT_JSON,
    'no image': json({ created: '2026-11-23T00:00:00Z', data: [] }),
    'an image without its address': made({ is_image_safe: true }),
    'an invalid address': made({ url: 'file:///etc/passwd', is_image_safe: true }),
  },
} as const;

export const IDEOGRAM_MEDIA: MediaWire = {
  uses: [
    {
      ...COMMON,
      name: 'images',
      capability: 'images',
      targets: ['/v1/upstream-model/generate'],
      run: ({ images }, call) => images?.generate(imageRequest(), call),
    },
    {
      ...COMMON,
      name: 'edits',
      capability: 'images',
      targets: ['/v1/upstream-model/remix'],
      run: ({ images }, call) => images?.generate(imageRequest({ images: [PNG] }), call),
    },
    {
      ...COMMON,
      name: 'masked edits',
      capability: 'images',
      targets: ['/v1/upstream-model/inpaint'],
      run: ({ images }, call) => images?.generate(imageRequest({ images: [PNG], mask: PNG }), call),
    },
  ],
  invalid: refusal(400, 'Invalid input provided.'),
  moderated: refusal(422, 'Prompt or provided image failed the safety check.'),
  keyRefused: refusal(401, 'Not authorized.'),
  leaking: (message) => refusal(400, message),
};
