/** How the media suite uses a provider, and what upstreams in OpenAI's format answer. */
import type { Provider } from '../../src/providers/contract/provider';
import type { ProviderCall } from '../../src/providers/contract/provider-call';
import type { Answer } from './fake-upstream';
import * as answer from './media-answers';
import { imageRequest, speechRequest, transcriptionRequest } from './media-requests';

export const PNG = { bytes: answer.tinyPng(), contentType: 'image/png' } as const;

/** One way to use a provider: what it sends where, how its upstream answers, and what no answer of it may be. */
export interface MediaUse {
  readonly name: string;
  readonly capability: 'images' | 'speech' | 'transcription';
  /** Its requests do not say which model they are for. */
  readonly namesNoModel?: true;
  /** The targets of its requests, in order. */
  readonly targets: readonly string[];
  readonly happy: Answer;
  /** What `happy` becomes, in part. */
  readonly delivers: object;
  readonly broken: Readonly<Record<string, Answer>>;
  /** `undefined`: the provider cannot. */
  run(provider: Provider, call: ProviderCall): Promise<unknown> | undefined;
}

/** The media of an upstream in its own format. */
export interface MediaWire {
  readonly uses: readonly MediaUse[];
  /** Refuses the client's request, if it says that it is the client's fault. */
  readonly invalid?: Answer;
  readonly moderated?: Answer;
  readonly keyRefused: Answer;
  /** The same as `invalid`, with this message. */
  leaking?(message: string): Answer;
}

export const NOT_JSON: Record<string, Answer> = {
  'broken JSON': answer.json('{"data":[{"b64_json":"iVBO'),
  'another JSON': answer.json([1, 2]),
  nothing: answer.json(''),
};
const NO_IMAGES: Record<string, Answer> = {
  ...NOT_JSON,
  'no images': answer.json({ created: 1, data: [] }),
  'wrong base64': answer.json({ data: [{ b64_json: `${answer.tinyPng().toString('base64')}????` }] }),
  'base64 of something other than an image': answer.json({
    data: [{ b64_json: Buffer.from('a text').toString('base64') }],
  }),
  'an image without bytes': answer.json({ data: [{ revised_prompt: 'x' }] }),
  'an invalid URL': answer.json({ data: [{ url: 'file:///etc/passwd' }] }),
};

export const OPENAI_MEDIA: MediaWire = {
  uses: [
    {
      name: 'images',
      capability: 'images',
      targets: ['/v1/images/generations'],
      happy: answer.images(1),
      delivers: { images: [{ bytes: answer.tinyPng(), revisedPrompt: null }] },
      broken: NO_IMAGES,
      run: ({ images }, call) => images?.generate(imageRequest(), call),
    },
    {
      name: 'edits',
      capability: 'images',
      targets: ['/v1/images/edits'],
      happy: answer.images(1),
      delivers: { images: [{ bytes: answer.tinyPng(), revisedPrompt: null }] },
      broken: NO_IMAGES,
      run: ({ images }, call) => images?.generate(imageRequest({ images: [PNG], mask: PNG }), call),
    },
    {
      name: 'speech',
      capability: 'speech',
      targets: ['/v1/audio/speech'],
      happy: answer.speech(),
      delivers: { progress: { audioBytes: 9, usage: null } },
      broken: {
        'no sound': answer.speech(''),
        'another format': answer.speech('OggS'),
        'a text': answer.speech('hello', 'text/plain'),
        JSON: answer.json('{}'),
      },
      run: ({ speech }, call) => speech?.speak(speechRequest(), call),
    },
    {
      name: 'transcripts',
      capability: 'transcription',
      targets: ['/v1/audio/transcriptions'],
      happy: answer.transcript(),
      delivers: { text: 'Hello there.' },
      broken: { ...NOT_JSON, 'no text': answer.json({ text: null }) },
      run: ({ transcription }, call) => transcription?.transcribe(transcriptionRequest(), call),
    },
    {
      name: 'streamed transcripts',
      capability: 'transcription',
      targets: ['/v1/audio/transcriptions'],
      happy: answer.transcriptStream(),
      delivers: { progress: { text: 'Hello there.' } },
      broken: {
        'no end': answer.eventStream(),
        'broken JSON': answer.eventStream('{"type":'),
        JSON: answer.json('{}'),
      },
      run: ({ transcription }, call) => transcription?.openStream?.(transcriptionRequest(), call),
    },
  ],
  invalid: answer.fault(400, { type: 'invalid_request_error', param: 'size' }),
  moderated: answer.fault(400, { type: 'image_generation_user_error', code: 'moderation_blocked' }),
  keyRefused: answer.fault(401, { code: 'invalid_api_key' }),
  leaking: (message) => answer.fault(400, { type: 'invalid_request_error', message }),
};

/** The wire of a vendor that does not serve this use. */
export function without(wire: MediaWire, name: string): MediaWire {
  return { ...wire, uses: wire.uses.filter((use) => use.name !== name) };
}
