import { randomUUID } from 'node:crypto';
import { COMMAND_LINE } from '../../../../src/core/types/actor';
import { OrganizationService } from '../../../../src/dashboard/organizations/organization.service';
import type { CallReply } from '../../../harness/gateway';
import { expectError, invite, remove, MembersStage } from './people';

const ORGANIZATIONS = '/dashboard/api/organizations';

type Json = CallReply['json'];

let stage: MembersStage;

beforeAll(async () => {
  stage = await MembersStage.start();
});

afterAll(() => stage.gateway.stop());

describe('an organization', () => {
  it('can be created by any user, who owns it, starts with a zero balance, and can be renamed by admins', async () => {
    const user = await stage.user(null);
    const created = await user.call(ORGANIZATIONS, { body: { name: ' Müller & Söhne ' } });
    expect(created.status).toBe(201);
    expect(created.json).toMatchObject({ name: 'Müller & Söhne', status: 'active', role: 'owner', concurrency: null });
    const path = `${ORGANIZATIONS}/${created.json.id}`;
    expect((await user.call(path)).json).toEqual(created.json);
    await expect(
      stage.gateway.rows('SELECT balance_micro FROM organization_account WHERE organization_id = $1', [
        created.json.id,
      ]),
    ).resolves.toEqual([{ balance_micro: '0' }]);
    const renamed = await user.call(path, { method: 'PATCH', body: { name: 'Acme' } });
    expect(renamed.json).toEqual({ ...created.json, name: 'Acme' });
    const viewer = await stage.gateway.dashboardUser({ role: 'viewer', organizationId: created.json.id });
    expect((await viewer.call(path)).json).toEqual({ ...renamed.json, role: 'viewer' });
    expectError(await viewer.call(path, { method: 'PATCH', body: { name: 'Mine' } }), 403, 'forbidden');
  });

  it.each<[string, object]>([
    ['name', {}],
    ['name', { name: '' }],
    ['name', { name: '  ' }],
    ['name', { name: 'x'.repeat(201) }],
    ['name', { name: 'a\nb' }],
    ['name', { name: 'a\u0000' }],
    ['name', { name: null }],
    ['status', { name: 'a', status: 'active' }],
  ])('refuses an invalid %s: %j', async (param, body) => {
    const user = await stage.user();
    expectError(await user.call(ORGANIZATIONS, { body }), 400, 'validation_failed', param);
    expectError(await user.call(user.path(''), { method: 'PATCH', body }), 400, 'validation_failed', param);
  });

  it('is limited to ten per owner, under concurrency', async () => {
    const user = await stage.user();
    const attempt = async (): Promise<CallReply> => {
      const reply = await user.call(ORGANIZATIONS, { body: { name: 'another' } });
      // Retried: so many concurrent calls may overload a busy machine.
      return reply.status === 503 ? attempt() : reply;
    };
    const replies = await Promise.all(Array.from({ length: 15 }, attempt));
    const refused = replies.filter(({ status }) => status !== 201);
    expect(refused).toHaveLength(15 - 9);
    for (const reply of refused) expectError(reply, 409, 'conflict');
  });

  it('is listed to its members, newest first, in pages', async () => {
    const user = await stage.user('viewer');
    const made: string[] = [];
    for (const name of ['b', 'a', 'c']) made.unshift((await user.call(ORGANIZATIONS, { body: { name } })).json.id);
    const first = (await user.call(`${ORGANIZATIONS}?limit=3`)).json;
    const second = (await user.call(`${ORGANIZATIONS}?limit=3&cursor=${first.next_cursor}`)).json;
    const listed = [...first.data, ...second.data].map(({ id, role }: Json) => [id, role]);
    expect(listed).toEqual([...made.map((id) => [id, 'owner']), [user.organizationId, 'viewer']]);
    expect(second.next_cursor).toBeNull();
  });

  it('can be read and managed by its members while suspended', async () => {
    const owner = await stage.user();
    await stage.gateway.app
      .get(OrganizationService, { strict: false })
      .suspend(owner.organizationId, 'not paid', COMMAND_LINE);
    expect((await owner.call(owner.path(''))).json.status).toBe('suspended');
    const viewer = await stage.colleague(owner, 'viewer');
    expect((await remove(owner, viewer)).status).toBe(204);
    expect((await owner.call(owner.path('/audit-log'))).json.data).toContainEqual(
      expect.objectContaining({
        action: 'organization.suspended',
        actor: { kind: 'command', user_id: null, email: null },
        before: { status: 'active' },
        after: { status: 'suspended', reason: 'not paid' },
      }),
    );
  });
});

describe('the audit log', () => {
  it('is listed to admins, newest first, in pages, by action, user and time', async () => {
    const owner = await stage.user();
    const admin = await stage.colleague(owner, 'admin');
    await owner.call(owner.path(''), { method: 'PATCH', body: { name: 'First' } });
    const renamed = await admin.call(admin.path(''), { method: 'PATCH', body: { name: 'Second' } });
    await invite(admin, `${randomUUID()}@example.com`);
    const read = async (query = ''): Promise<Json> => (await admin.call(admin.path(`/audit-log${query}`))).json;

    const { data } = await read();
    expect(data.map(({ action }: Json) => action)).toEqual([
      'invitation.created',
      'organization.updated',
      'organization.updated',
      'organization.created',
    ]);
    expect(data[1]).toMatchObject({
      actor: { kind: 'user', user_id: admin.userId, email: admin.email },
      address: '127.0.0.1',
      request_id: renamed.headers.get('x-request-id'),
      target: { type: 'organization', id: owner.organizationId },
      before: { name: 'First' },
      after: { name: 'Second' },
    });
    const first = await read('?limit=3');
    const rest = await read(`?limit=3&cursor=${first.next_cursor}`);
    expect([...first.data, ...rest.data]).toEqual(data);
    expect(rest.next_cursor).toBeNull();
    expect((await read('?action=organization.updated')).data).toEqual(data.slice(1, 3));
    expect((await read(`?actor=${admin.userId}`)).data).toEqual(data.slice(0, 2));
    expect((await read(`?actor=${owner.userId}&action=key.created`)).data).toEqual([]);
    expect((await read(`?to=${data[0].created_at}`)).data).not.toContainEqual(data[0]);
    expect((await read(`?from=${new Date(Date.now() + 60_000).toISOString()}`)).data).toEqual([]);
    const developer = await stage.colleague(owner, 'developer');
    expectError(await developer.call(developer.path('/audit-log')), 403, 'forbidden');
  });

  it('does not reveal which operator made a change', async () => {
    const owner = await stage.user();
    const operator = await stage.gateway.dashboardUser({ role: null, operator: true });
    const actor = { kind: 'operator', userId: operator.userId, address: '192.0.2.1', requestId: 'req_staff' } as const;
    await stage.gateway.app
      .get(OrganizationService, { strict: false })
      .setRateLimits(owner.organizationId, { concurrency: 5 }, actor);
    const { json, text } = await owner.call(owner.path('/audit-log?limit=1'));
    expect(json.data).toMatchObject([
      {
        action: 'organization.limits_updated',
        actor: { kind: 'operator', user_id: null, email: null },
        address: null,
        request_id: null,
        before: { concurrency: null },
        after: { concurrency: 5 },
      },
    ]);
    expect(text).not.toContain(operator.userId);
    expect((await owner.call(owner.path(`/audit-log?actor=${operator.userId}`))).json.data).toEqual([]);
  });

  it.each(['actor=me', 'from=yesterday', 'to=2030', 'action=', 'cursor=abc', 'limit=1e2', 'action=a&action=b', 'x=1'])(
    'refuses the invalid query ?%s',
    async (query) => {
      const owner = await stage.user();
      const reply = await owner.call(owner.path(`/audit-log?${query}`));
      expectError(reply, 400, 'validation_failed', query.split('=')[0]);
    },
  );
});
