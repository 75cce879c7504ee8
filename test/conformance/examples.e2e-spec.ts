import { pngFile } from '../harness/png-file';
import { TestGateway } from '../harness/gateway';
import { childOf, isObject, openapiDocument, operationsOf, type Operation } from '../harness/openapi-document';

/** Sends the document's example requests: the gateway's replies have exactly the fields of its example replies. */
const document = openapiDocument();
const operations = new Map(operationsOf(document).map((operation) => [operation.operationId, operation]));

const SENT = [
  'createChatCompletion',
  'createCompletion',
  'createEmbedding',
  'createImage',
  'createImageEdit',
  'createMusic',
  'createResponse',
  'createVideo',
];
const STREAMED = ['createChatCompletion', 'createCompletion', 'createResponse'];

let gateway: TestGateway;
let key: string;
beforeAll(async () => {
  gateway = await TestGateway.start({ STORAGE: 'local', MOCK_MEDIA_PROVIDER: 'true' });
  ({ key } = await gateway.customer());
});
afterAll(() => gateway.stop());

describe('the example reply', () => {
  it.each(SENT)('of %s has the fields and the input tokens of the real one', async (id) => {
    const { json } = await send(id, {});
    const example = exampleReply(id, 'application/json');
    expect(fieldsOf(example)).toEqual(fieldsOf(json));
    expect(inputTokensOf(example)).toEqual(inputTokensOf(json));
  });

  it.each(STREAMED)('of %s has the fields of an event of the real stream', async (id) => {
    const { events } = await send(id, { stream: true });
    const streamed = events.filter((data) => data !== '[DONE]').map((data) => fieldsOf(JSON.parse(data)));
    expect(streamed).toContainEqual(fieldsOf(exampleReply(id, 'text/event-stream')));
  });

  it('of listModels and getModel is the real one', async () => {
    const example = exampleReply('listModels', 'application/json') as { data: { id: string }[] };
    const { json } = await gateway.call('/v1/models', { key });
    expect(json.data).toEqual(expect.arrayContaining(example.data));
    const image = exampleReply('getModel', 'application/json') as { id: string };
    expect((await gateway.call(`/v1/models/${image.id}`, { key })).json).toEqual(image);
  });
});

function operation(id: string): Operation {
  const found = operations.get(id);
  if (found === undefined) throw new Error(`there is no operation ${id}`);
  return found;
}

function send(id: string, more: object) {
  const { path, node } = operation(id);
  const example = childOf(document, node, 'requestBody', 'content', 'application/json')?.value.example;
  // The host of the example has no image.
  const images =
    id === 'createImageEdit'
      ? { input_images: [pngFile({ width: 1, height: 1, type: 2 }, [[200, 60, 60]]).toString('base64')] }
      : {};
  // Video and music need a public host for webhooks, which a test has not.
  const body = { ...(example as object), ...images, webhook_url: null, ...more };
  return gateway.call(path, { key, body, headers: { 'idempotency-key': `${id}-${JSON.stringify(more)}` } });
}

function exampleReply(id: string, type: string): unknown {
  const { node } = operation(id);
  const content = ['200', '202'].flatMap(
    (status) => childOf(document, node, 'responses', status, 'content', type) ?? [],
  );
  return content.find(({ value }) => 'example' in value)?.value.example;
}

/** The names of all fields; of a list those of its first item. */
function fieldsOf(value: unknown): string[] {
  if (Array.isArray(value)) return fieldsOf(value[0]).map((name) => `[].${name}`);
  if (!isObject(value)) return [];
  return Object.entries(value)
    .flatMap(([name, item]) => [name, ...fieldsOf(item).map((inner) => `${name}.${inner}`)])
    .toSorted();
}

function inputTokensOf(reply: unknown): unknown {
  const usage = isObject(reply) && isObject(reply.usage) ? reply.usage : {};
  return usage.prompt_tokens ?? usage.input_tokens;
}
