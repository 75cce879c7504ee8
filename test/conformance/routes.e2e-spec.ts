import type { Type } from '@nestjs/common';
import { METHOD_METADATA } from '@nestjs/common/internal';
import { type ApplicationConfig, ModulesContainer } from '@nestjs/core';
import { FASTIFY_ROUTE_CONFIG_METADATA } from '@nestjs/platform-fastify/constants';
import type { RouteRules } from '../../src/core/http/route.decorators';
import { OPERATION_MODALITIES } from '../../src/billing/usage/operations';
import type { InterceptorChain, RouteGuards } from '../../src/http/request-stages';
import { GUARDS, INTERCEPTORS } from '../../src/http/request-path';
import { TestGateway } from '../harness/gateway';
import { childOf, openapiDocument, operationsOf, type Operation } from '../harness/openapi-document';

/** Compares the gateway's routes with the documents: no operation without a route, no undocumented route. */
const operations = operationsOf(openapiDocument());
const secured = operations.filter(({ node }) => !isOpen(node.value.security));

let gateway: TestGateway;
let key: string;
beforeAll(async () => {
  gateway = await TestGateway.start();
  ({ key } = await gateway.customer());
});
afterAll(() => gateway.stop());

describe('routes', () => {
  it('are exactly the operations of the two documents', () => {
    const all = [...operations, ...operationsOf(openapiDocument('dashboard'))];
    const documented = all.map(({ method, path }) => `${method} ${withoutNames(path)}`);
    expect(registeredRoutes().toSorted()).toEqual(documented.toSorted());
  });

  it.each(secured.map((operation) => [operation.operationId, operation] as const))(
    '%s exists, and refuses callers without a key',
    async (_id, operation) => {
      expect(await send(operation, null)).toMatchObject({ status: 401, code: 'invalid_api_key' });
    },
  );

  it.each(secured.map((operation) => [operation.operationId, operation] as const))(
    '%s is routed when called with a key',
    async (_id, operation) => {
      const ofUnknownPath = await ask('GET', '/v1/no-such-path', key, undefined);
      expect(ofUnknownPath.status).toBe(404);
      expect(await send(operation, key)).not.toEqual(ofUnknownPath);
    },
  );

  it.each(operations.filter((operation) => !secured.includes(operation)).map(({ path }) => path))(
    '%s needs no key',
    async (path) => {
      // The resource in the path does not exist, which only authorized callers learn.
      const concrete = path.replaceAll(/\{\w+\}/g, 'unknown');
      expect((await gateway.call(concrete)).status).toBe(concrete === path ? 200 : 404);
    },
  );
});

describe('the declarations of a route', () => {
  it('are those of its operation in the document', () => {
    const dashboard = operationsOf(openapiDocument('dashboard'));
    const expected = [...operations, ...dashboard].map((operation) => [
      operation.operationId,
      rulesInDocument(operation),
    ]);
    expect(declaredRules()).toEqual(Object.fromEntries(expected));
  });

  it('are enforced by the guards and interceptors of the request path, in order, on every route', () => {
    const config = (gateway.app as unknown as { config: ApplicationConfig }).config;
    const namesOf = (instances: readonly object[]): string[] => instances.map(({ constructor }) => constructor.name);
    const chains = config.getGlobalGuards() as RouteGuards[];
    for (const kind of ['key', 'session', 'public'] as const) {
      expect(chains.map(({ guards }) => namesOf(guards[kind]))).toEqual([GUARDS[kind].map(({ name }) => name)]);
    }
    const interceptors = config.getGlobalInterceptors() as InterceptorChain[];
    expect(interceptors.map((chain) => namesOf(chain.interceptors))).toEqual([INTERCEPTORS.map(({ name }) => name)]);
  });
});

describe('operations', () => {
  it.each(operations.map(({ operationId, method, path }) => [operationId, method, path] as const))(
    '%s documents its 413 for an oversized header section',
    async (_id, method, path) => {
      const headers = { 'x-filler': 'a'.repeat(20_000) };
      // `call` checks the reply against the document.
      expect(await gateway.call(path, { method, key, headers })).toMatchObject({ status: 413 });
    },
  );

  it('that cost money are refused before their bodies are read when the caller is over its limits', async () => {
    const limited = await gateway.customer({ requestsPerMinute: 1 });
    for (let round = 0; round < 2; round++)
      await gateway.call('/v1/chat/completions', { key: limited.key, body: CHAT });
    const refused = await whichAnswer(secured, limited.key, {}, ({ code }) => code === 'rate_limited');
    expect(refused).toEqual(namesOf(secured.filter(costsMoney)));
  });

  it('accept an Idempotency-Key if documented, and otherwise ignore it', async () => {
    const headers = { 'idempotency-key': 'k'.repeat(256) };
    const looked = await whichAnswer(
      secured,
      key,
      headers,
      ({ message }) => message?.includes('Idempotency-Key') === true,
    );
    expect(looked).toEqual(namesOf(secured.filter(takesIdempotencyKey)));
    expect(looked).not.toEqual([]);
  });

  it('that cost money take one, in the document', () => {
    expect(namesOf(operations.filter(costsMoney))).toEqual(namesOf(operations.filter(takesIdempotencyKey)));
  });
});

const CHAT = { model: 'mock/chat-1', messages: [{ role: 'user', content: '[[mock: delay=0]]' }] };

/** Billed operations document a 402. */
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

/** A request to the operation; with hardly a body where it takes one. */
function send(
  { method, path, node }: Operation,
  callerKey: string | null,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const concrete = path === '/v1/models/{id}' ? '/v1/models/mock/chat-1' : path.replaceAll(/\{\w+\}/g, 'unknown');
  return ask(method, concrete, callerKey, emptyBody(node), headers);
}

/** An empty object, or where only a form is taken, one that says nothing. */
function emptyBody(operation: Operation['node']): '{}' | FormData | undefined {
  const content = childOf(openapiDocument(), operation, 'requestBody', 'content')?.value;
  if (content === undefined || 'application/json' in content) return content && '{}';
  const form = new FormData();
  form.append('nothing', '');
  return form;
}

async function ask(
  method: string,
  path: string,
  callerKey: string | null,
  body: '{}' | FormData | undefined,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const response = await fetch(`${gateway.url}${path}`, {
    method,
    headers: {
      ...(callerKey !== null && { authorization: `Bearer ${callerKey}` }),
      ...(body === '{}' && { 'content-type': 'application/json' }),
      ...headers,
    },
    body,
  });
  const { error } = (await response.json()) as { error?: { code: string; message: string } };
  return { status: response.status, code: error?.code, message: error?.message };
}

type DeclaredRules = Pick<RouteRules, 'public' | 'session' | 'spends' | 'modality'>;

function rulesInDocument(operation: Operation): DeclaredRules {
  const access = operation.node.value['x-access'];
  if (operation.path.startsWith('/dashboard/api/')) return { session: access as RouteRules['session'] };
  if (!secured.includes(operation)) return { public: true };
  const modality = OPERATION_MODALITIES[operation.operationId as keyof typeof OPERATION_MODALITIES];
  return costsMoney(operation) ? { spends: true, modality } : {};
}

/** What the decorators of all handlers declare, by the name of the handler. */
function declaredRules(): Record<string, DeclaredRules> {
  const declared: Record<string, DeclaredRules> = {};
  for (const module of gateway.app.get(ModulesContainer).values()) {
    for (const { metatype } of module.controllers.values()) {
      const prototype = (metatype as Type).prototype as object;
      for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(prototype))) {
        if (typeof value !== 'function' || Reflect.getMetadata(METHOD_METADATA, value) === undefined) continue;
        const rules: RouteRules = Reflect.getMetadata(FASTIFY_ROUTE_CONFIG_METADATA, value) ?? {};
        const { public: isPublic, session, spends, modality } = rules;
        declared[name] = JSON.parse(JSON.stringify({ public: isPublic, session, spends, modality }));
      }
    }
  }
  return declared;
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
  const tree = gateway.app.getHttpAdapter().getInstance().printRoutes();
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

/** The same text for `/v1/jobs/{id}`, `/v1/jobs/:id` and, where an id holds slashes, `/v1/models/*`. */
function withoutNames(path: string): string {
  return path.replaceAll(/\{\w+\}|:\w+/g, '{}').replace(/\/\*$/, '/{}');
}
