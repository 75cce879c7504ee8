import { ERROR_CATALOG, type ErrorCode } from '../../src/core/errors/catalog';
import { isObject, nodeAt, openapiDocument, operationsOf } from '../harness/openapi-document';

const document = openapiDocument('dashboard');
const operations = operationsOf(document);

function valueAt(pointer: string): Record<string, unknown> {
  const node = nodeAt(document, pointer);
  if (node === undefined) throw new Error(`the document has nothing at ${pointer}`);
  return node.value;
}

const codes = valueAt('/components/schemas/ErrorCode').enum as ErrorCode[];

describe('dashboard document', () => {
  it('lists only codes of the error table, including every dashboard-only code', () => {
    const own = Object.entries(ERROR_CATALOG).filter(([, { surface }]) => surface === 'dashboard');
    expect(codes).toEqual(expect.arrayContaining(own.map(([code]) => code)));
    expect(codes.filter((code) => !(code in ERROR_CATALOG))).toEqual([]);
  });

  it('lists under each status exactly its codes', () => {
    const named = Object.values(valueAt('/components/responses')).flatMap((response) => {
      const text = isObject(response) ? String(response.description) : '';
      return [...text.matchAll(/`([a-z_]+)`/g)].map(([, code]) => code as ErrorCode);
    });
    expect(named.toSorted()).toEqual(codes.toSorted());
  });

  it.each(operations.map((operation) => [operation.operationId, operation] as const))(
    '%s refers to the shared reply for each error status',
    (_id, { node }) => {
      const responses = isObject(node.value.responses) ? node.value.responses : {};
      for (const [status, response] of Object.entries(responses)) {
        if (!/^[45]\d\d$/.test(status) || !isObject(response)) continue;
        const text = String(valueAt(String(response.$ref).slice(1)).description);
        const mentioned = codes.filter((code) => text.includes(`\`${code}\``));
        expect(mentioned.map((code) => String(ERROR_CATALOG[code].status))).toEqual(mentioned.map(() => status));
        expect(mentioned).not.toEqual([]);
      }
    },
  );

  it.each(operations.map((operation) => [operation.operationId, operation] as const))(
    '%s documents its access and its audit event',
    (_id, { method, path, node }) => {
      const { 'x-access': access, 'x-audit': audit, security } = node.value;
      const levels = ['anonymous', 'machine', 'user', 'viewer', 'developer', 'admin', 'owner', 'operator'];
      expect(levels).toContain(access);
      expect(Array.isArray(security)).toBe(access === 'anonymous' || access === 'machine');
      expect(path.includes('{organization_id}')).toBe(
        ['viewer', 'developer', 'admin', 'owner'].includes(String(access)) || /operator\/organizations\/\{/.test(path),
      );
      expect(method === 'GET' ? audit : undefined).toBeUndefined();
      expect(audit ?? 'nothing.changed').toMatch(/^[a-z_]+\.[a-z_]+$/);
    },
  );
});
