import { request } from 'node:http';
import { COMMAND_LINE } from '../../../../src/core/types/actor';
import { ApiKeyService } from '../../../../src/auth/api-keys/api-key.service';
import type { DashboardClient } from '../../../harness/dashboard-client';
import { TestGateway } from '../../../harness/gateway';
import { MovedClock } from '../accounts/visitor';

const clock = new MovedClock();
let gateway: TestGateway;
beforeAll(async () => {
  gateway = await TestGateway.start({}, clock);
});
afterAll(() => gateway.stop());

/** Sends a request whose body arrives a minute after authorization, and after `meanwhile`; returns the status. */
function postSlowly(
  path: string,
  headers: Record<string, string>,
  json: object,
  meanwhile: () => Promise<unknown>,
): Promise<number> {
  const body = JSON.stringify(json);
  return new Promise((resolve, reject) => {
    const sent = request(new URL(path, gateway.url), {
      method: 'POST',
      headers: {
        ...headers,
        'content-type': 'application/json',
        'content-length': body.length,
        expect: '100-continue',
      },
    });
    sent.on('continue', () => {
      meanwhile().then(() => {
        clock.moveMinutes(1);
        sent.end(body);
      }, reject);
    });
    sent.on('response', (reply) => resolve(reply.resume().statusCode ?? 0));
    sent.on('error', reject);
    sent.flushHeaders();
  });
}

describe('a change with a slow body', () => {
  it.each<[string, number, (client: DashboardClient) => Promise<unknown>]>([
    ['succeeds while the caller is still authorized', 201, async () => undefined],
    [
      'is refused after its session has ended',
      401,
      (client) => client.call('/dashboard/api/logout', { method: 'POST' }),
    ],
    [
      'is refused after the role was revoked',
      403,
      (client) => gateway.rows(`UPDATE organization_member SET role = 'viewer' WHERE user_id = $1`, [client.userId]),
    ],
    [
      'is refused after the membership has ended',
      404,
      (client) => gateway.rows('DELETE FROM organization_member WHERE user_id = $1', [client.userId]),
    ],
  ])('%s (%i)', async (_what, status, meanwhile) => {
    const client = await gateway.dashboardUser({ role: 'developer' });
    const headers = { cookie: client.cookie, 'x-requested-with': 'test' };
    const reply = postSlowly(client.path('/keys'), headers, { name: 'slow' }, () => meanwhile(client));
    await expect(reply).resolves.toBe(status);
    const keys = await gateway.rows('SELECT id FROM api_key WHERE organization_id = $1', [client.organizationId]);
    expect(keys).toHaveLength(status === 201 ? 1 : 0);
  });
});

describe('a request with a slow body', () => {
  it.each([
    ['is served while its key is good', 200],
    ['is refused when its key was revoked meanwhile', 401],
  ])('%s (%i)', async (_what, status) => {
    const { organizationId, key, keyId } = await gateway.customer();
    const revoke = () => gateway.app.get(ApiKeyService, { strict: false }).revoke(keyId, organizationId, COMMAND_LINE);
    const chat = { model: 'mock/chat-1', messages: [{ role: 'user', content: 'Hello' }] };
    const reply = postSlowly('/v1/chat/completions', { authorization: `Bearer ${key}` }, chat, () =>
      status === 200 ? Promise.resolve() : revoke(),
    );
    await expect(reply).resolves.toBe(status);
  });
});
