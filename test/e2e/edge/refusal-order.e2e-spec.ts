import { AttemptThrottle } from '../../../src/auth/rate-limits/attempt-throttle';
import { LimiterService } from '../../../src/auth/rate-limits/limiter.service';
import { GatewayError } from '../../../src/core/errors/gateway-error';
import { DrainService } from '../../../src/http/availability';
import { SessionService } from '../../../src/dashboard/accounts/session.service';
import { TestGateway } from '../../harness/gateway';
import { exchange } from '../../harness/raw-http';

/** A request with several faults gets the refusal of the first, in the order of the guards and interceptors. */
let gateway: TestGateway;
beforeAll(async () => {
  gateway = await TestGateway.start();
});
afterEach(() => jest.restoreAllMocks());
afterAll(() => gateway.stop());

interface Sent {
  host: string;
  path: string;
  headers: Record<string, string | undefined>;
  contentType: string;
  body: string;
}

/** Puts one fault into a request. */
type Fault = readonly [expected: string, cause: (sent: Sent) => unknown];

/** Sends a request with the faults from `first` on; returns status, code and param. */
async function refusalFrom(faults: readonly Fault[], first: number, sent: Sent): Promise<string> {
  // Earlier faults are caused last, because they may replace the same part of the request.
  for (const [, cause] of faults.slice(first).toReversed()) await cause(sent);
  const fields = { ...sent.headers, 'content-type': sent.contentType, 'content-length': String(sent.body.length) };
  const lines = Object.entries(fields).flatMap(([name, value]) => (value === undefined ? [] : [`${name}: ${value}`]));
  const head = [`POST ${sent.path} HTTP/1.1`, `Host: ${sent.host}`, ...lines].join('\r\n');
  const { status, body } = await exchange(Number(new URL(gateway.url).port), `${head}\r\n\r\n${sent.body}`);
  const { error } = JSON.parse(body) as { error: { code: string; param: string | null } };
  return [status, error.code, error.param].filter(Boolean).join(' ');
}

const OVER_LIMIT = new GatewayError('rate_limited', 'over the limit');
const isDraining = (): unknown =>
  jest.spyOn(gateway.app.get(DrainService, { strict: false }), 'draining', 'get').mockReturnValue(true);

const useKeyOf =
  (...settings: Parameters<TestGateway['customer']>) =>
  async ({ headers }: Sent): Promise<void> => {
    headers.authorization = `Bearer ${(await gateway.customer(...settings)).key}`;
  };

const API: readonly Fault[] = [
  ['400 validation_failed', (sent) => (sent.host = 'a b')],
  ['404 not_found', (sent) => (sent.path = '/v1/no-such-path')],
  ['401 invalid_api_key', ({ headers }) => (headers['AUTHORIZATION'] = headers.authorization)],
  ['503 service_unavailable', isDraining],
  ['401 invalid_api_key', ({ headers }) => (headers.authorization = 'Bearer sk-llm-unknown')],
  ['403 ip_not_allowed', useKeyOf({ allowedIps: ['203.0.113.0/24'], allowedModalities: ['music'] })],
  ['403 modality_not_allowed model', useKeyOf({ allowedModalities: ['music'] })],
  [
    '429 rate_limited',
    () =>
      jest.spyOn(gateway.app.get(LimiterService, { strict: false }), 'refuseEarly').mockImplementation(() => {
        throw OVER_LIMIT;
      }),
  ],
  ['415 unsupported_media_type', (sent) => (sent.contentType = 'text/plain')],
  ['400 invalid_json', (sent) => (sent.body = '{"model"')],
  ['400 validation_failed Idempotency-Key', ({ headers }) => (headers['idempotency-key'] = 'a key with spaces')],
  ['400 validation_failed messages', (sent) => (sent.body = '{"model":"mock/none"}')],
  ['404 model_not_found model', (sent) => (sent.body = sent.body.replace('mock/chat-1', 'mock/none'))],
];

it.each(API.map(([expected], index) => [index, expected] as const))(
  'an API request with the faults from %i on is refused with %s',
  async (first, expected) => {
    const { key } = await gateway.customer();
    const sent = {
      host: 'gateway',
      path: '/v1/chat/completions',
      headers: { authorization: `Bearer ${key}` },
      contentType: 'application/json',
      body: '{"model":"mock/chat-1","messages":[{"role":"user","content":"Hi"}]}',
    };
    expect(await refusalFrom(API, first, sent)).toBe(expected);
  },
);

describe('a change in the dashboard', () => {
  let organizationId: string;
  beforeAll(async () => {
    ({ organizationId } = await gateway.dashboardUser());
  });

  const signInAs =
    (role: 'viewer' | null, isEnded = false) =>
    async ({ headers }: Sent): Promise<void> => {
      const client = await gateway.dashboardUser({ organizationId, role });
      if (isEnded) await gateway.app.get(SessionService, { strict: false }).end(client.sessionId, client.userId);
      headers.cookie = client.cookie;
    };

  const DASHBOARD: readonly Fault[] = [
    ['503 service_unavailable', isDraining],
    ['401 unauthenticated', ({ headers }) => (headers.cookie = undefined)],
    ['403 csrf_failed', ({ headers }) => (headers['x-requested-with'] = undefined)],
    ['401 unauthenticated', signInAs(null, true)],
    ['404 not_found', signInAs(null)],
    ['403 forbidden', signInAs('viewer')],
    [
      '429 rate_limited',
      () => jest.spyOn(gateway.app.get(AttemptThrottle, { strict: false }), 'take').mockRejectedValue(OVER_LIMIT),
    ],
    ['415 unsupported_media_type', (sent) => (sent.contentType = 'text/plain')],
    ['400 invalid_json', (sent) => (sent.body = '{"name"')],
    ['400 validation_failed name', (sent) => (sent.body = '{"name":1}')],
  ];

  it.each(DASHBOARD.map(([expected], index) => [index, expected] as const))(
    'with the faults from %i on is refused with %s',
    async (first, expected) => {
      const { cookie } = await gateway.dashboardUser({ organizationId, role: 'developer' });
      const sent = {
        host: 'gateway',
        path: `/dashboard/api/organizations/${organizationId}/keys`,
        headers: { cookie, 'x-requested-with': 'test' },
        contentType: 'application/json',
        body: '{"name":"ci"}',
      };
      expect(await refusalFrom(DASHBOARD, first, sent)).toBe(expected);
    },
  );
});
