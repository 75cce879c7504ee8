/** Black Forest Labs: https://docs.bfl.ml/api_integration/integration_guidelines. */
import type { Answer } from '../fake-upstream';
import { json } from '../media-answers';
import { imageRequest } from '../media-requests';
import { type MediaWire, NOT_JSON, PNG } from '../media-uses';

const SAMPLE = 'https://delivery-us1.bfl.ai/results/sample.png?se=2026-11-22T00%3A10%3A00Z';

/** Accepts a request, and answers a poll with `polled`. */
function accepting(polled: object): Answer {
  return (response, request) => {
    const polling_url = `http://${request.headers.host}/v1/get_result?id=task-1`;
    const body = request.url.startsWith('/v1/get_result') ? polled : { id: 'task-1', polling_url, cost: 3 };
    json(body)(response, request);
  };
}

const ready = (result: unknown): Answer => accepting({ id: 'task-1', status: 'Ready', result });

function refusal(status: number, detail: unknown): Answer {
  return json({ detail }, status);
}

const COMMON = {
  targets: ['/v1/upstream-model', '/v1/get_result?id=task-1'],
  happy: ready({ sample: SAMPLE, prompt: 'a lighthouse' }),
  delivers: { images: [{ url: SAMPLE, revisedPrompt: null }], usage: { images: 1, units: 3 } },
  broken: {
    ...NOT_JSON,
    'no polling URL': json({ id: 'task-1' }),
    'a place at another host': json({ id: 'task-1', polling_url: 'https://bfl.example.com/v1/get_result?id=task-1' }),
    'no sample': ready({}),
    'an invalid address': ready({ sample: 'file:///etc/passwd' }),
    'a failed task': accepting({ id: 'task-1', status: 'Error' }),
  },
} as const;

export const BFL_MEDIA: MediaWire = {
  uses: [
    {
      ...COMMON,
      name: 'images',
      capability: 'images',
      run: ({ images }, call) => images?.generate(imageRequest(), call),
    },
    {
      ...COMMON,
      name: 'edits',
      capability: 'images',
      run: ({ images }, call) => images?.generate(imageRequest({ images: [PNG, PNG] }), call),
    },
    {
      ...COMMON,
      name: 'masked edits',
      capability: 'images',
      targets: ['/v1/flux-pro-1.0-fill', '/v1/get_result?id=task-1'],
      namesNoModel: true,
      run: ({ images }, call) =>
        images?.generate(imageRequest({ images: [PNG], mask: PNG }), { ...call, upstreamModel: 'flux-pro-1.0-fill' }),
    },
  ],
  invalid: refusal(422, [{ loc: ['body', 'width'], msg: 'Input should be less than 2048', type: 'less_than_equal' }]),
  moderated: accepting({ id: 'task-1', status: 'Content Moderated', details: { 'Moderation Reasons': ['x'] } }),
  keyRefused: refusal(403, 'Not authenticated - Invalid Authentication'),
  leaking: (message) => refusal(422, [{ loc: ['body', 'prompt'], msg: message, type: 'value_error' }]),
};
