import { childOf, isObject, nodeAt, openapiDocument, operationsOf, type Node } from '../harness/openapi-document';
import { validatorAt } from '../harness/openapi-validator';

/** Validates the document's example requests, replies and events against its schemas. */
const document = openapiDocument();
const webhook = nodeAt(document, '/webhooks/jobFinished/post');
const operations = [
  ...operationsOf(document).map(({ operationId, node }) => [operationId, node] as const),
  ...(webhook === undefined ? [] : [['jobFinished', webhook] as const]),
];

describe('/openapi.yaml', () => {
  it.each(operations)('shows an example of every request, reply and event of %s that is text', (_id, operation) => {
    const contents = [childOf(document, operation, 'requestBody', 'content'), ...responseContents(operation)];
    const textual = contents.flatMap((content) => (content === undefined ? [] : textualMediaTypes(content)));
    expect(textual.filter(({ value }) => !('example' in value)).map(({ pointer }) => pointer)).toEqual([]);
    expect(textual.flatMap(violations)).toEqual([]);
  });

  it.each(operations)('shows an example of every path and header parameter that %s requires', (_id, operation) => {
    const parameters = Array.isArray(operation.value.parameters) ? operation.value.parameters : [];
    const required = parameters
      .flatMap((_, index) => childOf(document, operation, 'parameters', String(index)) ?? [])
      .filter(({ value }) => value.required === true);
    expect(required.filter(({ value }) => !('example' in value)).map(({ value }) => value.name)).toEqual([]);
    expect(required.flatMap(violations)).toEqual([]);
  });
});

function responseContents(operation: Node): readonly (Node | undefined)[] {
  const responses = isObject(operation.value.responses) ? operation.value.responses : {};
  return Object.keys(responses).map((status) => childOf(document, operation, 'responses', status, 'content'));
}

/** The media types of which an example can be shown as text, that is, all except images and audio. */
function textualMediaTypes(content: Node): readonly Node[] {
  return Object.keys(content.value)
    .filter((type) => /^(application\/(json|yaml)|multipart\/form-data|text\/.+)$/.test(type))
    .flatMap((type) => childOf(document, content, type) ?? []);
}

function violations({ pointer, value }: Node): string[] {
  const validate = validatorAt('openapi', `${pointer}/schema`);
  if (validate(value.example) === true) return [];
  return (validate.errors ?? []).map(({ instancePath, message }) => `${pointer}${instancePath} ${message ?? ''}`);
}
