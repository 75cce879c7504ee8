import { ERROR_CATALOG } from '../../src/core/errors/catalog';
import { isObject, nodeAt, openapiDocument } from '../harness/openapi-document';

const document = openapiDocument();
const catalog = Object.entries(ERROR_CATALOG);

function valueAt(pointer: string): Record<string, unknown> {
  const node = nodeAt(document, pointer);
  if (node === undefined) throw new Error(`the document has nothing at ${pointer}`);
  return node.value;
}

describe('error table', () => {
  it('matches between document and code: codes, statuses, types, retry rules, surfaces', () => {
    const rows = Object.entries(valueAt('/components/schemas/ErrorCode/x-error-table')).map(([code, row]) => {
      const { meaning, ...rest } = isObject(row) ? row : {};
      expect(typeof meaning).toBe('string');
      return [code, rest];
    });
    expect(Object.fromEntries(rows)).toEqual(ERROR_CATALOG);
  });

  it('documents every /v1 code and no dashboard code for /v1', () => {
    const ofApi = catalog.filter(([, { surface }]) => surface === 'api').map(([code]) => code);
    expect(valueAt('/components/schemas/ErrorCode').enum).toEqual(ofApi);
  });

  it('lists exactly the existing types', () => {
    const types = new Set(catalog.map(([, { type }]) => type));
    expect(new Set(valueAt('/components/schemas/ErrorType').enum as string[])).toEqual(types);
  });

  it('lists under each status exactly its codes', () => {
    const named = Object.values(valueAt('/components/responses')).flatMap((response) => {
      const text = isObject(response) ? String(response.description) : '';
      return [...text.matchAll(/`([a-z_]+)`/g)].map(([, code]) => code);
    });
    const ofApi = catalog.filter(([, { surface }]) => surface === 'api').map(([code]) => code);
    expect(named.toSorted()).toEqual(ofApi.toSorted());
  });

  it('shows only examples that agree with it', () => {
    const errors = Object.values(valueAt('/components/responses')).flatMap(exampleError);
    expect(errors.length).toBeGreaterThan(10);
    const typeOf = (code: unknown) => catalog.find(([known]) => known === code)?.[1].type;
    expect(errors.map(({ code, type }) => [code, type])).toEqual(errors.map(({ code }) => [code, typeOf(code)]));
  });

  it.each(operationStatuses())('%s refers to the shared reply for status %s', (_operation, status, reference) => {
    const text = String(valueAt(reference.slice(1)).description);
    const codes = catalog.filter(([code]) => text.includes(`\`${code}\``));
    expect(codes.map(([, row]) => String(row.status))).toEqual(codes.map(() => status));
    expect(codes.length).toBeGreaterThan(0);
  });
});

function exampleError(response: unknown): Record<string, unknown>[] {
  const content = isObject(response) && isObject(response.content) ? response.content['application/json'] : undefined;
  const example = isObject(content) && isObject(content.example) ? content.example.error : undefined;
  return isObject(example) ? [example] : [];
}

/** Every numeric error status of every operation with the shared reply it refers to. */
function operationStatuses(): [string, string, string][] {
  return Object.entries(valueAt('/paths')).flatMap(([path, item]) =>
    Object.entries(isObject(item) ? item : {}).flatMap(([method, operation]) => {
      const responses = isObject(operation) && isObject(operation.responses) ? operation.responses : {};
      return Object.entries(responses)
        .filter(([status, response]) => /^[45]\d\d$/.test(status) && isObject(response) && '$ref' in response)
        .map(([status, response]): [string, string, string] => [
          `${method} ${path}`,
          status,
          String((response as { $ref: unknown }).$ref),
        ]);
    }),
  );
}
