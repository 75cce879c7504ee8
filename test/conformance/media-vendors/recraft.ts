/** Recraft: OpenAI's format, but for masked edits (https://www.recraft.ai/docs/api-reference/tools/inpainting). */
import { type MediaWire, OPENAI_MEDIA } from '../media-uses';

export const RECRAFT_MEDIA: MediaWire = {
  ...OPENAI_MEDIA,
  uses: OPENAI_MEDIA.uses.map((use) =>
    use.name === 'edits' ? { ...use, name: 'masked edits', targets: ['/v1/images/inpaint'] } : use,
  ),
};
