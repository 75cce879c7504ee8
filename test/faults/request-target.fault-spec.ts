import { endChildren } from '../harness/child-process';
import { createTestDatabase, type TestDatabase } from '../harness/database';
import { GatewayProcess } from '../harness/gateway-process';
import { exchange } from '../harness/raw-http';
import { createTestRedis } from '../harness/redis';
import { Operator } from './operator';

describe('unusual hosts and targets', () => {
  let database: TestDatabase;
  let operator: Operator;
  let gateway: GatewayProcess;
  let key: string;

  beforeAll(async () => {
    database = await createTestDatabase();
    operator = await Operator.connect(database.url);
    ({ key } = await operator.customer());
    gateway = await GatewayProcess.start({ databaseUrl: database.url, redisUrl: createTestRedis().url });
  });
  afterAll(async () => {
    await endChildren();
    await operator.close();
    await database.drop();
  });

  /** Status and error code of a raw request. */
  async function ask(target: string, headers: readonly string[], authorization: string | null): Promise<string> {
    const lines = [
      `GET ${target} HTTP/1.1`,
      ...headers,
      ...(authorization === null ? [] : [`Authorization: Bearer ${authorization}`]),
      'Connection: close',
    ];
    const { status, body } = await exchange(gateway.port, `${lines.join('\r\n')}\r\n\r\n`);
    const { error } = JSON.parse(body);
    return error === undefined ? String(status) : `${status} ${error.code}`;
  }

  const UNKNOWN_KEY = 'sk-llm-unknown';

  it.each([
    ['a plain host', '/v1/models', ['Host: gateway.example']],
    ['a host and its port', '/v1/models', ['Host: gateway.example:8443']],
    ['an IPv6 address and its port', '/v1/models', ['Host: [::1]:8080']],
    ['an absolute target', 'http://gateway.example/v1/models', ['Host: gateway.example']],
    ['an absolute target elsewhere', 'http://elsewhere.example/v1/models', ['Host: gateway.example']],
    ['an absolute target with a user', 'http://user:password@gateway.example/v1/models', ['Host: gateway.example']],
    ['an absolute target of another scheme', 'https://gateway.example:8443/v1/models', ['Host: gateway.example']],
    ['an absolute target with an open path in its query', '/v1/models?/health', ['Host: gateway.example']],
  ])('do not affect authentication with %s', async (_what, target, headers) => {
    expect(await ask(target, headers, key)).toBe('200');
    expect(await ask(target, headers, null)).toBe('401 invalid_api_key');
    expect(await ask(target, headers, UNKNOWN_KEY)).toBe('401 invalid_api_key');
  });

  it.each([
    ['no host', []],
    ['an empty host', ['Host:']],
    ['a host that looks like a URL', ['Host: a/#@b']],
    ['a host that names another path', ['Host: gateway.example/health']],
    ['a host with a query', ['Host: gateway.example?/health#']],
    ['a host with a user', ['Host: user@gateway.example']],
    ['two hosts in one line', ['Host: gateway.example, elsewhere.example']],
    ['an open bracket', ['Host: [::1']],
    ['an invalid port', ['Host: gateway.example:http']],
    ['a byte that is not ASCII', ['Host: g\xe4teway.example']],
  ])('are refused with %s, for any key and any path', async (_what, headers) => {
    expect(await ask('/v1/models', headers, key)).toBe('400 validation_failed');
    expect(await ask('/v1/models', headers, null)).toBe('400 validation_failed');
    expect(await ask('/health', headers, null)).toBe('400 validation_failed');
    expect(await ask('/none', headers, key)).toBe('400 validation_failed');
    expect(await ask('http://gateway.example/v1/models', headers, key)).toBe('400 validation_failed');
  });

  it('include HTTP/1.0 without a host, which is served', async () => {
    const { status } = await exchange(gateway.port, 'GET /health HTTP/1.0\r\n\r\n');
    expect(status).toBe(200);
  });

  it.each([
    ['different', ['Host: gateway.example', 'Host: elsewhere.example']],
    ['equal', ['Host: gateway.example', 'host: gateway.example']],
    ['far apart', ['HOST: gateway.example', 'X-Other: 1', 'Host: elsewhere.example']],
  ])('are refused for two hosts that are %s, with any key', async (_how, headers) => {
    expect(await ask('/v1/models', headers, key)).toBe('400 validation_failed');
    expect(await ask('/v1/models', headers, null)).toBe('400 validation_failed');
    expect(await ask('http://gateway.example/v1/models', headers, key)).toBe('400 validation_failed');
  });

  it.each([
    '//gateway.example/v1/models',
    'http://gateway.example',
    'http://gateway.example//v1/models',
    '/health/../v1/models',
    'ftp://gateway.example/v1/models',
  ])('reach no route at %s', async (target) => {
    expect(await ask(target, ['Host: gateway.example'], key)).toMatch(/^404 not_found$|^400 validation_failed$/);
  });
});
