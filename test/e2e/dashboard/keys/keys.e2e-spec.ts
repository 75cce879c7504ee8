import { type Actor, COMMAND_LINE } from '../../../../src/core/types/actor';
import { ApiKeyService } from '../../../../src/auth/api-keys/api-key.service';
import { OrganizationService } from '../../../../src/dashboard/organizations/organization.service';
import { FULL } from '../../../faults/figures';
import type { DashboardClient } from '../../../harness/dashboard-client';
import { type CallReply, TestGateway } from '../../../harness/gateway';
import { act, create, expectError, type Json, keysOf } from './key-actions';

let gateway: TestGateway;
let developer: DashboardClient;

beforeAll(async () => {
  gateway = await TestGateway.start();
  developer = await gateway.dashboardUser({ role: 'developer' });
});

afterAll(() => gateway.stop());

describe('the keys of an organization', () => {
  it('are listed newest first, in pages, by state', async () => {
    const client = await gateway.dashboardUser({ role: 'developer' });
    const ids: Record<string, string> = {};
    for (const state of ['active', 'disabled', 'revoked', 'expired']) ids[state] = (await create(client)).id;
    await act(client, ids.disabled as string, 'disable');
    await act(client, ids.revoked as string, 'revoke');
    await gateway.rows(`UPDATE api_key SET expires_at = now() - interval '1 second' WHERE id = $1`, [ids.expired]);

    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const query: string = cursor === null ? '' : `&cursor=${cursor}`;
      const page = (await client.call(keysOf(client, `?limit=1${query}`))).json;
      expect(page.data).toHaveLength(1);
      seen.push(page.data[0].id);
      cursor = page.next_cursor;
    } while (cursor !== null);
    expect(seen).toEqual([ids.expired, ids.revoked, ids.disabled, ids.active]);

    for (const [state, id] of Object.entries(ids)) {
      const { json } = await client.call(keysOf(client, `?status=${state}`));
      expect(json.data.map((key: { id: string; status: string }) => [key.id, key.status])).toEqual([[id, state]]);
    }
  });

  it.each([
    'status=unknown',
    'limit=0',
    'limit=101',
    'cursor=made-up',
    'other=1',
    'limit=1&limit=2',
    'search=',
    `search=${'x'.repeat(201)}`,
    'search=%00',
    'search=a&search=b',
    'revoked=1',
    'order=spent',
  ])('are not listed for the invalid query ?%s', async (query) => {
    const param = query.split('=')[0];
    expectError(await developer.call(keysOf(developer, `?${query}`)), 400, 'validation_failed', param);
  });

  it('are at most a hundred, also under concurrency', async () => {
    const client = await gateway.dashboardUser({ role: 'developer' });
    const { attempts, before } = FULL ? { attempts: 200, before: 0 } : { attempts: 30, before: 80 };
    await gateway.rows(
      `INSERT INTO api_key (organization_id, name, digest, prefix, last4)
       SELECT $1::uuid, 'before', sha256(convert_to($1::uuid::text || n, 'UTF8')), 'sk-llm-0000', '0000' FROM generate_series(1, $2::int) n`,
      [client.organizationId, before],
    );
    const attempt = async (): Promise<CallReply> => {
      const reply = await client.call(keysOf(client), { body: {} });
      // Retried: so many concurrent calls may overload a busy machine.
      return reply.status === 503 ? attempt() : reply;
    };
    const replies = await Promise.all(Array.from({ length: attempts }, attempt));
    const refused = replies.filter(({ status }) => status !== 201);
    expect(refused).toHaveLength(attempts - (100 - before));
    for (const reply of refused) expectError(reply, 409, 'max_api_keys_reached');
    const [made] = await gateway.rows<{ count: number }>(
      'SELECT count(*)::int AS count FROM api_key WHERE organization_id = $1',
      [client.organizationId],
    );
    expect(made?.count).toBe(100);
    const [id] = replies.filter(({ status }) => status === 201).map(({ json }) => json.api_key.id as string);
    expect((await act(client, id as string, 'revoke')).status).toBe(200);
    await create(client);
  });

  it('are at most as many as an operator allows, which the refusal names; keys beyond a lowered limit stay valid', async () => {
    const client = await gateway.dashboardUser();
    const operator = await gateway.dashboardUser({ operator: true });
    const setLimit = async (limit: number | null) =>
      (
        await operator.call(`/dashboard/api/operator/organizations/${client.organizationId}`, {
          method: 'PATCH',
          body: { max_api_keys: limit },
        })
      ).json.max_api_keys as number;
    const refusedFor = async (limit: number) => {
      const reply = await client.call(keysOf(client), { body: {} });
      expectError(reply, 409, 'max_api_keys_reached');
      expect(reply.json.error.message).toContain(`at most ${limit} API keys`);
      expect((await client.call(client.path(''))).json.max_api_keys).toBe(limit);
    };
    expect((await client.call(client.path(''))).json.max_api_keys).toBe(100);
    expect(await setLimit(2)).toBe(2);
    const { id } = await create(client);
    await create(client);
    await refusedFor(2);
    expect(await setLimit(3)).toBe(3);
    await create(client);
    expect(await setLimit(1)).toBe(1);
    await refusedFor(1);
    expect((await client.call(client.path(`/keys/${id}`))).json.status).toBe('active');
    expect(await setLimit(null)).toBe(100);
    await create(client);
  });

  it.each([null, 'viewer'])(
    'are neither created nor changed by calls that waited for the lock while the caller lost the role (now %s)',
    async (role) => {
      const client = await gateway.dashboardUser({ role: 'developer' });
      const { id } = await create(client);
      const { organizationId, userId } = client;
      await gateway.rows(
        role === null
          ? 'DELETE FROM organization_member WHERE organization_id = $1 AND user_id = $2'
          : `UPDATE organization_member SET role = 'viewer' WHERE organization_id = $1 AND user_id = $2`,
        [organizationId, userId],
      );
      // Calls that were authorized before.
      const keys = gateway.app.get(ApiKeyService, { strict: false });
      const maker: Actor = { kind: 'user', userId, address: null, requestId: null };
      const waiting: (() => Promise<unknown>)[] = [
        () => keys.create(organizationId, {}, maker),
        () => keys.update(id, organizationId, { name: 'mine' }, maker),
        () => keys.disable(id, organizationId, maker),
        () => keys.enable(id, organizationId, maker),
        () => keys.rotate(id, organizationId, 0, maker),
        () => keys.revoke(id, organizationId, maker),
        () => gateway.app.get(OrganizationService, { strict: false }).rename(organizationId, 'mine', maker),
      ];
      for (const call of waiting) await expect(call()).rejects.toMatchObject({ code: 'forbidden' });
      await expect(keys.list(organizationId)).resolves.toMatchObject([
        { id, name: 'default', enabled: true, revokedAt: null },
      ]);
    },
  );

  it('stay within the limit under repeated rotation with a grace period', async () => {
    const client = await gateway.dashboardUser({ role: 'developer' });
    const { id } = await create(client);
    await gateway.rows(
      `INSERT INTO api_key (organization_id, name, digest, prefix, last4, revoked_at, replaced_by)
       SELECT $1::uuid, 'rotated', sha256(convert_to($1::uuid::text || n, 'UTF8')), 'sk-llm-0000', '0000', now() + interval '1 day', $2::uuid
         FROM generate_series(1, 100) n`,
      [client.organizationId, id],
    );
    expectError(await act(client, id, 'rotate', { grace_seconds: 60 }), 409, 'max_api_keys_reached');
    expect((await act(client, id, 'rotate', {})).status).toBe(200);
  });

  it('cannot be created or enabled while it is suspended, but can be read, disabled and revoked', async () => {
    const client = await gateway.dashboardUser({ role: 'developer' });
    const { id } = await create(client);
    await gateway.app
      .get(OrganizationService, { strict: false })
      .suspend(client.organizationId, 'not paid', COMMAND_LINE);
    expectError(await client.call(keysOf(client), { body: {} }), 409, 'conflict');
    expect((await client.call(keysOf(client, `/${id}`))).status).toBe(200);
    expectError(await act(client, id, 'rotate', {}), 409, 'conflict');
    const later = { expires_at: '2100-01-01T00:00:00Z' };
    expectError(await client.call(keysOf(client, `/${id}`), { method: 'PATCH', body: later }), 409, 'conflict');
    expect((await act(client, id, 'disable')).json.status).toBe('disabled');
    expectError(await act(client, id, 'enable'), 409, 'conflict');
    expect((await act(client, id, 'revoke')).json.status).toBe('revoked');
  });

  it('record only the changes and their actor in the audit log', async () => {
    const owner = await gateway.dashboardUser({ role: 'owner' });
    const { id, json } = await create(owner, { name: 'audited' });
    await owner.call(keysOf(owner, `/${id}`), { method: 'PATCH', body: { concurrency: 3, name: 'audited' } });
    await act(owner, id, 'disable');
    const rotated = (await act(owner, id, 'rotate', {})).json;
    const { data } = (await owner.call(owner.path('/audit-log'))).json;
    const entries = data.filter(({ target }: Json) => target.type === 'api_key');
    expect(entries.map(({ action, before, after }: Json) => ({ action, before, after }))).toEqual([
      {
        action: 'key.rotated',
        before: { revoked_at: null, replaced_by: null },
        after: { revoked_at: rotated.replaced.revoked_at, replaced_by: rotated.api_key.id },
      },
      { action: 'key.disabled', before: { enabled: true }, after: { enabled: false } },
      { action: 'key.updated', before: { concurrency: null }, after: { concurrency: 3 } },
      { action: 'key.created', before: null, after: expect.objectContaining({ name: 'audited', concurrency: null }) },
    ]);
    expect(entries[0].actor).toEqual({ kind: 'user', user_id: owner.userId, email: owner.email });
    expect(JSON.stringify(entries)).not.toContain(json.key.slice(11, -4));
  });
});
