import { randomUUID } from 'node:crypto';
import { SchemaCases } from '../../../conformance/schema-cases';
import type { DashboardClient } from '../../../harness/dashboard-client';
import type { CallReply, TestGateway } from '../../../harness/gateway';
import { childOf, isObject, openapiDocument, operationsOf, type Operation } from '../../../harness/openapi-document';

const document = openapiDocument('dashboard');
const cases = new SchemaCases(document);

/** Every dashboard operation except its document, with its `x-access`. */
export const OPERATIONS = operationsOf(document)
  .filter(({ path }) => path.startsWith('/dashboard/api/'))
  .map((operation) => ({
    ...operation,
    access: String(operation.node.value['x-access']),
    /** Parameters of the path besides the organization, in order. */
    ids: [...operation.path.matchAll(/\{(\w+)\}/g)]
      .map(([, name]) => String(name))
      .filter((name) => name !== 'organization_id' || operation.path.includes('/operator/')),
  }));

export type DashboardOperation = (typeof OPERATIONS)[number];

export function isMutation({ method }: Operation): boolean {
  return method !== 'GET';
}

/** The path with an id of the caller's organization, and `idOf` for each other parameter. */
export function pathOf(
  { path, ids }: DashboardOperation,
  organizationId: string,
  idOf: (name: string) => string = () => randomUUID(),
): string {
  return path.replaceAll(/\{(\w+)\}/g, (_text, name: string) => (ids.includes(name) ? idOf(name) : organizationId));
}

/** The smallest body that satisfies the document; `undefined` where the operation takes none. */
function sampleBody({ node }: Operation): unknown {
  const schema = childOf(document, node, 'requestBody', 'content', 'application/json')?.value.schema;
  if (!isObject(schema)) return undefined;
  return typeof schema.$ref === 'string' ? cases.sample(String(schema.$ref.split('/').at(-1))) : {};
}

/** Calls an operation with or without a session, without checking the audit log. */
export function ask(
  gateway: TestGateway,
  operation: DashboardOperation,
  path: string,
  client: DashboardClient | null,
  headers: Record<string, string> = { 'x-requested-with': 'test' },
): Promise<CallReply> {
  const body = sampleBody(operation);
  return gateway.call(path, {
    method: operation.method,
    body,
    headers: { ...(client !== null && { cookie: client.cookie }), ...headers },
  });
}

/** The body of a refusal without the fields that differ per request. */
export function withoutRequestId({ json }: CallReply): unknown {
  const { request_id: _id, ...error } = (json as { error: Record<string, unknown> }).error;
  return error;
}
