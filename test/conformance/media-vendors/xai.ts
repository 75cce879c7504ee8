/** xAI: OpenAI's format, but edits are JSON (https://docs.x.ai/developers/model-capabilities/images/generation). */
import { imageRequest } from '../media-requests';
import { type MediaWire, OPENAI_MEDIA, PNG } from '../media-uses';

export const XAI_MEDIA: MediaWire = {
  ...OPENAI_MEDIA,
  uses: OPENAI_MEDIA.uses.map((use) =>
    use.name === 'edits'
      ? { ...use, run: ({ images }, call) => images?.generate(imageRequest({ images: [PNG] }), call) }
      : use,
  ),
};
