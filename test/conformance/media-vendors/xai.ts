/** xAI: OpenAI's format, except that edits are JSON and speech has an endpoint of its own. */
import { json, speech } from '../media-answers';
import { imageRequest, speechRequest } from '../media-requests';
import { type MediaUse, type MediaWire, OPENAI_MEDIA, PNG, without } from '../media-uses';

const editOne: MediaUse['run'] = ({ images }, call) => images?.generate(imageRequest({ images: [PNG] }), call);

export const XAI_MEDIA: MediaWire = {
  ...OPENAI_MEDIA,
  uses: [
    // https://docs.x.ai/developers/model-capabilities/images/generation
    ...without(OPENAI_MEDIA, 'speech').uses.map((use) => (use.name === 'edits' ? { ...use, run: editOne } : use)),
    {
      // https://docs.x.ai/developers/model-capabilities/audio/text-to-speech
      name: 'speech',
      capability: 'speech',
      targets: ['/v1/tts'],
      namesNoModel: true,
      happy: speech(),
      delivers: { progress: { audioBytes: 9, usage: null } },
      broken: { 'no sound': speech(''), 'another format': speech('OggS'), JSON: json('{}') },
      run: ({ speech: speaking }, call) => speaking?.speak(speechRequest({ voice: 'eve' }), call),
    },
  ],
};
