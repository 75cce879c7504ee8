import { randomUUID } from 'node:crypto';
import type { DashboardClient } from '../../../harness/dashboard-client';
import type { CallReply } from '../../../harness/gateway';
import { expectError, invite, leave, remove, setRole, MembersStage } from './people';

let stage: MembersStage;

beforeAll(async () => {
  stage = await MembersStage.start();
});

afterAll(() => stage.gateway.stop());

const newEmail = (): string => `${randomUUID()}@example.com`;

describe('the members of an organization', () => {
  it('are listed to every member, last joined first, in pages', async () => {
    const owner = await stage.user();
    const viewer = await stage.colleague(owner, 'viewer');
    const first = (await viewer.call(viewer.path('/members?limit=1'))).json;
    const second = (await viewer.call(viewer.path(`/members?limit=1&cursor=${first.next_cursor}`))).json;
    expect([first, second].map(({ data }) => data)).toEqual([
      [expect.objectContaining({ user_id: viewer.userId, email: viewer.email, role: 'viewer' })],
      [expect.objectContaining({ user_id: owner.userId, email: owner.email, role: 'owner' })],
    ]);
    expect(second.next_cursor).toBeNull();
  });

  it('get new roles, which apply from their next request on', async () => {
    const owner = await stage.user();
    const other = await stage.colleague(owner, 'viewer');
    for (const role of ['admin', 'developer', 'viewer', 'owner'] as const) {
      expect((await setRole(owner, other, role)).json).toMatchObject({ user_id: other.userId, role });
      expect((await other.call(other.path(''))).json.role).toBe(role);
    }
    expect((await remove(owner, other)).status).toBe(204);
    expectError(await other.call(other.path('')), 404, 'not_found');
  });

  it('can be made, changed and removed as owners only by owners', async () => {
    const owner = await stage.user();
    const second = await stage.colleague(owner, 'owner');
    const admin = await stage.colleague(owner, 'admin');
    const viewer = await stage.colleague(owner, 'viewer');
    for (const reply of [
      await setRole(admin, viewer, 'owner'),
      await setRole(admin, admin, 'owner'),
      await setRole(admin, second, 'viewer'),
      await remove(admin, second),
      await invite(admin, newEmail(), 'owner'),
    ]) {
      expectError(reply, 403, 'forbidden');
    }
    expect(await stage.rolesOf(owner)).toEqual({
      [owner.userId]: 'owner',
      [second.userId]: 'owner',
      [admin.userId]: 'admin',
      [viewer.userId]: 'viewer',
    });
    expect((await setRole(admin, viewer, 'admin')).status).toBe(200);
    expect((await setRole(owner, second, 'viewer')).status).toBe(200);
  });

  it.each(['viewer', 'developer'] as const)('with the role %s cannot change members, but can leave', async (role) => {
    const owner = await stage.user();
    const member = await stage.colleague(owner, role);
    expectError(await setRole(member, member, 'admin'), 403, 'forbidden');
    expectError(await remove(member, owner), 403, 'forbidden');
    expectError(await invite(member, newEmail()), 403, 'forbidden');
    expect((await leave(member)).status).toBe(204);
    expect(await stage.rolesOf(owner)).toEqual({ [owner.userId]: 'owner' });
  });

  it('always include an owner: the last one cannot leave, be removed or lose the role', async () => {
    const owner = await stage.user();
    await stage.colleague(owner, 'admin');
    for (const reply of [await leave(owner), await remove(owner, owner), await setRole(owner, owner, 'admin')]) {
      expectError(reply, 409, 'conflict');
    }
    expect((await setRole(owner, owner, 'owner')).status).toBe(200);
  });

  it('always include an owner with an active account', async () => {
    const owner = await stage.user();
    const other = await stage.colleague(owner, 'owner');
    await stage.gateway.rows(`UPDATE user_account SET status = 'disabled' WHERE id = $1`, [other.userId]);
    expectError(await leave(owner), 409, 'conflict');
    expect((await remove(owner, other)).status).toBe(204);
  });

  it.each<[string, (one: DashboardClient, other: DashboardClient) => Promise<CallReply>]>([
    ['leave', (one) => leave(one)],
    ['remove each other', (one, other) => remove(one, other)],
    ['take the role from each other', (one, other) => setRole(one, other, 'viewer')],
    ['take the role from themselves', (one) => setRole(one, one, 'viewer')],
  ])('always include an owner when all owners %s concurrently', async (_what, act) => {
    const first = await stage.user();
    const owners = [first, ...(await Promise.all([1, 2, 3].map(() => stage.colleague(first, 'owner'))))];
    const replies = await Promise.all(
      owners.map((one, index) => act(one, owners[(index + 1) % owners.length] as DashboardClient)),
    );
    expect(Object.values(await stage.rolesOf(first)).filter((role) => role === 'owner').length).toBeGreaterThan(0);
    for (const reply of replies.filter(({ status }) => status >= 400)) {
      expect(['conflict', 'forbidden', 'not_found']).toContain(reply.json.error.code);
    }
  });

  it('are not_found for malformed ids and members of other organizations', async () => {
    const owner = await stage.user();
    const outsider = await stage.user();
    for (const userId of [outsider.userId, randomUUID(), 'no-uuid']) {
      expectError(await setRole(owner, { userId }, 'viewer'), 404, 'not_found');
      expectError(await remove(owner, { userId }), 404, 'not_found');
    }
    expectError(await owner.call(outsider.path('/members')), 404, 'not_found');
    expectError(await owner.call(outsider.path('/leave'), { method: 'POST' }), 404, 'not_found');
  });
});
