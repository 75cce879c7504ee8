/**
 * Vendors whose models the catalogue maps: https://fal.ai/docs/api-reference/inference-api,
 * https://replicate.com/docs/reference/http.
 */
import { Readable } from 'node:stream';
import type { RequestMapping } from '../../../src/providers/contract/request-mapping';
import type { Answer } from '../fake-upstream';
import { json } from '../media-answers';
import { imageRequest, speechRequest } from '../media-requests';
import { type MediaWire, NOT_JSON, PNG } from '../media-uses';

const IMAGE = 'https://files.example.com/a.png';

const FAL_MAPPING: RequestMapping = {
  map: { prompt: 'prompt', n: 'num_images', input_images: 'image_urls' },
  output: { image: '$.images[*].url' },
};

/** Accepts a request, reports its end, and answers with its result. */
function queue(result: object, status = 200, report: object = {}): Answer {
  return (response, request) => {
    const place = `http://${request.headers.host}/upstream-model/requests/r1`;
    if (request.url.endsWith('/status')) json({ status: 'COMPLETED', ...report })(response, request);
    else if (request.url.endsWith('/r1')) json(result, status)(response, request);
    else {
      const urls = { status_url: `${place}/status`, response_url: place, cancel_url: `${place}/cancel` };
      json({ request_id: 'r1', status: 'IN_QUEUE', ...urls })(response, request);
    }
  };
}

const falUse = (name: 'images' | 'edits') =>
  ({
    name,
    capability: 'images',
    targets: ['/upstream-model', '/upstream-model/requests/r1/status', '/upstream-model/requests/r1'],
    happy: queue({ images: [{ url: IMAGE, width: 1_024 }] }),
    delivers: { images: [{ url: IMAGE, revisedPrompt: null }] },
    broken: {
      ...NOT_JSON,
      'no addresses': json({ request_id: 'r1' }),
      'addresses at another host': json({
        request_id: 'r1',
        status_url: 'https://a.example/s',
        response_url: 'https://a.example/r',
        cancel_url: 'https://a.example/c',
      }),
      'no images': queue({ images: [] }),
      'an invalid address': queue({ images: [{ url: 'file:///etc/passwd' }] }),
      'a failed request': queue({}, 200, { error: 'x', error_type: 'unheard_of' }),
    },
    run: ({ images }, call) =>
      images?.generate(imageRequest(name === 'edits' ? { images: [PNG] } : {}), { ...call, mapping: FAL_MAPPING }),
  }) satisfies MediaWire['uses'][number];

const SPEECH_MAPPING: RequestMapping = {
  map: { input: 'prompt', voice: 'voice', speed: 'speed' },
  output: { audio: '$.audio.url' },
};
const WAV = Buffer.from('RIFF\x04\0\0\0WAVE', 'latin1');

const falSpeech: MediaWire['uses'][number] = {
  name: 'speech',
  capability: 'speech',
  targets: ['/upstream-model', '/upstream-model/requests/r1/status', '/upstream-model/requests/r1'],
  happy: queue({ audio: { url: 'https://files.example.com/a.wav' } }),
  delivers: { progress: { audioBytes: WAV.length, usage: null } },
  broken: {
    ...NOT_JSON,
    'no file': queue({ audio: null }),
    'an invalid address': queue({ audio: { url: 'file:///etc/passwd' } }),
    'a failed request': queue({}, 200, { error: 'x', error_type: 'unheard_of' }),
  },
  run: ({ speech }, call) =>
    speech?.speak(speechRequest({ format: 'wav' }), {
      ...call,
      mapping: SPEECH_MAPPING,
      openFile: () => Promise.resolve(Readable.from([WAV])),
    }),
};

const refused = (type: string, message = 'no'): Answer =>
  queue({ detail: [{ loc: ['body', 'prompt'], msg: message, type }] }, 422);

export const FAL_MEDIA: MediaWire = {
  uses: [falUse('images'), falUse('edits'), falSpeech],
  invalid: json({ detail: [{ loc: ['body', 'prompt'], msg: 'Field required', type: 'missing' }] }, 422),
  moderated: refused('content_policy_violation'),
  keyRefused: json({ detail: 'Cannot access application' }, 401),
  leaking: (message) => json({ detail: [{ loc: ['body', 'prompt'], msg: message, type: 'value_error' }] }, 422),
};

const REPLICATE_MAPPING: RequestMapping = {
  map: { prompt: 'prompt', input_images: { to: 'image', as: 'single' } },
  output: { image: '$[*]' },
};

function prediction(ending: object): Answer {
  return (response, request) => {
    const place = `http://${request.headers.host}/v1/predictions/p1`;
    const state = request.url.endsWith('/p1') ? ending : { status: 'starting', output: null };
    json({ id: 'p1', urls: { get: place, cancel: `${place}/cancel` }, ...state }, 201)(response, request);
  };
}

const replicateUse = (name: 'images' | 'edits') =>
  ({
    name,
    capability: 'images',
    targets: ['/v1/models/upstream-model/predictions', '/v1/predictions/p1'],
    happy: prediction({ status: 'succeeded', output: [IMAGE] }),
    delivers: { images: [{ url: IMAGE, revisedPrompt: null }] },
    broken: {
      ...NOT_JSON,
      'no addresses': json({ id: 'p1' }, 201),
      'no output': prediction({ status: 'succeeded', output: null }),
      'an invalid address': prediction({ status: 'succeeded', output: ['file:///etc/passwd'] }),
      'a failed prediction': prediction({ status: 'failed', error: 'E1001: out of memory' }),
    },
    run: ({ images }, call) =>
      images?.generate(imageRequest(name === 'edits' ? { images: [PNG] } : {}), {
        ...call,
        mapping: REPLICATE_MAPPING,
      }),
  }) satisfies MediaWire['uses'][number];

export const REPLICATE_MEDIA: MediaWire = {
  uses: [replicateUse('images'), replicateUse('edits')],
  invalid: json({ title: 'Input validation failed', detail: '- input: prompt is required', status: 422 }, 422),
  moderated: prediction({ status: 'failed', error: 'The input or output was flagged as sensitive. (E005)' }),
  keyRefused: json({ title: 'Unauthenticated', detail: 'You did not pass a valid token', status: 401 }, 401),
  leaking: (message) => json({ title: 'Input validation failed', detail: message, status: 422 }, 422),
};
