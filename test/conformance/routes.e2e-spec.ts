import { PENDING_OPERATIONS } from '../../src/http/pending-operations';
import { TestGateway } from '../harness/gateway';
import { childOf, openapiDocument, operationsOf, type Operation } from '../harness/openapi-document';

/** Where the gateway serves what, held to what the document says: no operation without a route, no route unsaid. */
const operations = operationsOf(openapiDocument());
const secured = operations.filter(({ node }) => !isOpen(node.value.security));
const pendingIds = new Set(PENDING_OPERATIONS.map(({ operationId }) => operationId));

let gateway: TestGateway;
let key: string;
beforeAll(async () => {
  gateway = await TestGateway.start();
  ({ key } = await gateway.customer());
});
afterAll(() => gateway.stop());

describe('routes', () => {
  it('are exactly the operations of the document', () => {
    const documented = operations.map(({ method, path }) => `${method} ${withoutNames(path)}`);
    expect(registeredRoutes().toSorted()).toEqual(documented.toSorted());
  });

  it.each(secured.map((operation) => [operation.operationId, operation] as const))(
    '%s is there, and closed to callers without a key',
    async (_id, operation) => {
      expect(await send(operation, null)).toMatchObject({ status: 401, code: 'invalid_api_key' });
    },
  );

  it.each(secured.map((operation) => [operation.operationId, operation] as const))(
    '%s knows its path when called with a key',
    async (_id, operation) => {
      const ofUnknownPath = await ask('GET', '/v1/no-such-path', key, false);
      expect(ofUnknownPath.status).toBe(404);
      expect(await send(operation, key)).not.toEqual(ofUnknownPath);
    },
  );

  it.each(operations.filter((operation) => !secured.includes(operation)).map(({ path }) => path))(
    '%s is open',
    async (path) => {
      expect((await gateway.call(path)).status).toBe(200);
    },
  );
});

describe('operations of this build', () => {
  const built = secured.filter(({ operationId }) => !pendingIds.has(operationId));

  it('are refused before their bodies are read when the caller is over its limits, if they cost money', async () => {
    const limited = await gateway.customer({ requestsPerMinute: 1 });
    for (let turn = 0; turn < 2; turn++) await gateway.call('/v1/chat/completions', { key: limited.key, body: CHAT });
    const refused = await whichAnswer(built, limited.key, {}, ({ code }) => code === 'rate_limited');
    expect(refused).toEqual(namesOf(built.filter(costsMoney)));
  });

  it('take an Idempotency-Key if the document says so, and else do not look', async () => {
    const headers = { 'idempotency-key': 'k'.repeat(256) };
    const looked = await whichAnswer(
      built,
      key,
      headers,
      ({ message }) => message?.includes('Idempotency-Key') === true,
    );
    expect(looked).toEqual(namesOf(built.filter(takesIdempotencyKey)));
    expect(looked).not.toEqual([]);
  });

  it('that cost money take one, in the document', () => {
    expect(namesOf(operations.filter(costsMoney))).toEqual(namesOf(operations.filter(takesIdempotencyKey)));
  });
});

describe('pending operations', () => {
  it('are operations of the document under the same method and path', () => {
    const documented = operations.map(({ operationId, method, path }) => [operationId, method, withoutNames(path)]);
    for (const { operationId, method, url } of PENDING_OPERATIONS) {
      expect(documented).toContainEqual([operationId, method, withoutNames(url)]);
    }
    expect(pendingIds.size).toBe(PENDING_OPERATIONS.length);
  });

  it.each(secured.map((operation) => [operation.operationId, operation] as const))(
    'are those that answer 501: %s',
    async (id, operation) => {
      const { status, code } = await send(operation, key);
      expect(status === 501 && code === 'not_implemented').toBe(pendingIds.has(id));
    },
  );
});

const CHAT = { model: 'mock/chat-1', messages: [{ role: 'user', content: '[[mock: delay=0]]' }] };

/** Whoever is charged can lack the money. */
function costsMoney({ node }: Operation): boolean {
  return '402' in (node.value.responses as object);
}

function takesIdempotencyKey({ node }: Operation): boolean {
  const count = Array.isArray(node.value.parameters) ? node.value.parameters.length : 0;
  const parameters = Array.from({ length: count }, (_, index) =>
    childOf(openapiDocument(), node, 'parameters', String(index)),
  );
  return parameters.some((parameter) => parameter?.value.name === 'Idempotency-Key');
}

function namesOf(some: readonly Operation[]): string[] {
  return some.map(({ operationId }) => operationId).toSorted();
}

async function whichAnswer(
  some: readonly Operation[],
  callerKey: string,
  headers: Record<string, string>,
  matches: (answer: Answer) => boolean,
): Promise<string[]> {
  const answers = await Promise.all(some.map((operation) => send(operation, callerKey, headers)));
  return namesOf(some.filter((_, index) => matches(answers[index] as Answer)));
}

interface Answer {
  readonly status: number;
  readonly code: string | undefined;
  readonly message: string | undefined;
}

/**
 * A request to the operation; an empty object where it takes a body. Not through `gateway.call`: a pending operation
 * answers 501, which the finished one need not have in the document.
 */
function send(
  { method, path, node }: Operation,
  callerKey: string | null,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const concrete = path === '/v1/models/{id}' ? '/v1/models/mock/chat-1' : path.replaceAll(/\{\w+\}/g, 'unknown');
  return ask(method, concrete, callerKey, 'requestBody' in node.value, headers);
}

async function ask(
  method: string,
  path: string,
  callerKey: string | null,
  takesBody: boolean,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const response = await fetch(`${gateway.url}${path}`, {
    method,
    headers: {
      ...(callerKey !== null && { authorization: `Bearer ${callerKey}` }),
      ...(takesBody && { 'content-type': 'application/json' }),
      ...headers,
    },
    body: takesBody ? '{}' : undefined,
  });
  const { error } = (await response.json()) as { error?: { code: string; message: string } };
  return { status: response.status, code: error?.code, message: error?.message };
}

/** `security: []` opens an operation; without the word it inherits the document's. */
function isOpen(security: unknown): boolean {
  return Array.isArray(security) && security.length === 0;
}

/**
 * What Fastify has registered, as `METHOD path`; it lists its routes only as a drawn tree. HEAD is left out: Fastify
 * answers it wherever there is a GET, as HTTP asks.
 */
function registeredRoutes(): string[] {
  const tree = gateway.app.getHttpAdapter().getInstance().printRoutes({ commonPrefix: false });
  const ancestors: string[] = [];
  return tree.split('\n').flatMap((line) => {
    const [, indent, segment, methods] = /^([│├└─\s]*)(\S+)(?: \(([A-Z, ]+)\))?$/.exec(line) ?? [];
    if (indent === undefined || segment === undefined) return [];
    const depth = indent.length / 4 - 1;
    const path = `${ancestors[depth - 1] ?? ''}${segment}`;
    ancestors[depth] = path;
    const served = (methods ?? '').split(', ').filter((method) => method !== '' && method !== 'HEAD');
    return served.map((method) => `${method} ${withoutNames(path)}`);
  });
}

/** The same text for `/v1/jobs/{id}`, `/v1/jobs/:id` and, where an id holds slashes, `/v1/models*` as Fastify draws it. */
function withoutNames(path: string): string {
  return path.replaceAll(/\{\w+\}|:\w+/g, '{}').replace(/\/?\*$/, '/{}');
}
