import { randomUUID } from 'node:crypto';
import type { DashboardClient } from '../../../harness/dashboard-client';
import type { CallReply } from '../../../harness/gateway';
import { expectError, invite, leave, remove, setRole, Town } from './people';

let town: Town;

beforeAll(async () => {
  town = await Town.start();
});

afterAll(() => town.gateway.stop());

const newEmail = (): string => `${randomUUID()}@example.com`;

describe('the members of an organization', () => {
  it('are listed to all of them, the last to join first, page by page', async () => {
    const owner = await town.user();
    const viewer = await town.colleague(owner, 'viewer');
    const first = (await viewer.call(viewer.path('/members?limit=1'))).json;
    const second = (await viewer.call(viewer.path(`/members?limit=1&cursor=${first.next_cursor}`))).json;
    expect([first, second].map(({ data }) => data)).toEqual([
      [expect.objectContaining({ user_id: viewer.userId, email: viewer.email, role: 'viewer' })],
      [expect.objectContaining({ user_id: owner.userId, email: owner.email, role: 'owner' })],
    ]);
    expect(second.next_cursor).toBeNull();
  });

  it('get other roles, which count from their next request on', async () => {
    const owner = await town.user();
    const other = await town.colleague(owner, 'viewer');
    for (const role of ['admin', 'developer', 'viewer', 'owner'] as const) {
      expect((await setRole(owner, other, role)).json).toMatchObject({ user_id: other.userId, role });
      expect((await other.call(other.path(''))).json.role).toBe(role);
    }
    expect((await remove(owner, other)).status).toBe(204);
    expectError(await other.call(other.path('')), 404, 'not_found');
  });

  it('are made, changed and removed as owners by owners only', async () => {
    const owner = await town.user();
    const second = await town.colleague(owner, 'owner');
    const admin = await town.colleague(owner, 'admin');
    const viewer = await town.colleague(owner, 'viewer');
    for (const reply of [
      await setRole(admin, viewer, 'owner'),
      await setRole(admin, admin, 'owner'),
      await setRole(admin, second, 'viewer'),
      await remove(admin, second),
      await invite(admin, newEmail(), 'owner'),
    ]) {
      expectError(reply, 403, 'forbidden');
    }
    expect(await town.rolesOf(owner)).toEqual({
      [owner.userId]: 'owner',
      [second.userId]: 'owner',
      [admin.userId]: 'admin',
      [viewer.userId]: 'viewer',
    });
    expect((await setRole(admin, viewer, 'admin')).status).toBe(200);
    expect((await setRole(owner, second, 'viewer')).status).toBe(200);
  });

  it.each(['viewer', 'developer'] as const)('with the role %s change nobody, and may leave', async (role) => {
    const owner = await town.user();
    const member = await town.colleague(owner, role);
    expectError(await setRole(member, member, 'admin'), 403, 'forbidden');
    expectError(await remove(member, owner), 403, 'forbidden');
    expectError(await invite(member, newEmail()), 403, 'forbidden');
    expect((await leave(member)).status).toBe(204);
    expect(await town.rolesOf(owner)).toEqual({ [owner.userId]: 'owner' });
  });

  it('always include an owner: the last one can neither leave, be removed nor lose the role', async () => {
    const owner = await town.user();
    await town.colleague(owner, 'admin');
    for (const reply of [await leave(owner), await remove(owner, owner), await setRole(owner, owner, 'admin')]) {
      expectError(reply, 409, 'conflict');
    }
    expect((await setRole(owner, owner, 'owner')).status).toBe(200);
  });

  it('always include an owner who can sign in', async () => {
    const owner = await town.user();
    const other = await town.colleague(owner, 'owner');
    await town.gateway.rows(`UPDATE user_account SET status = 'disabled' WHERE id = $1`, [other.userId]);
    expectError(await leave(owner), 409, 'conflict');
    expect((await remove(owner, other)).status).toBe(204);
  });

  it.each<[string, (one: DashboardClient, other: DashboardClient) => Promise<CallReply>]>([
    ['leave', (one) => leave(one)],
    ['remove each other', (one, other) => remove(one, other)],
    ['take the role from each other', (one, other) => setRole(one, other, 'viewer')],
    ['take the role from themselves', (one) => setRole(one, one, 'viewer')],
  ])('always include an owner, when all owners %s at once', async (_what, act) => {
    const first = await town.user();
    const owners = [first, ...(await Promise.all([1, 2, 3].map(() => town.colleague(first, 'owner'))))];
    const replies = await Promise.all(
      owners.map((one, index) => act(one, owners[(index + 1) % owners.length] as DashboardClient)),
    );
    expect(Object.values(await town.rolesOf(first)).filter((role) => role === 'owner').length).toBeGreaterThan(0);
    for (const reply of replies.filter(({ status }) => status >= 400)) {
      expect(['conflict', 'forbidden', 'not_found']).toContain(reply.json.error.code);
    }
  });

  it('are not found when they are none, or others of other organizations', async () => {
    const owner = await town.user();
    const stranger = await town.user();
    for (const userId of [stranger.userId, randomUUID(), 'no-uuid']) {
      expectError(await setRole(owner, { userId }, 'viewer'), 404, 'not_found');
      expectError(await remove(owner, { userId }), 404, 'not_found');
    }
    expectError(await owner.call(stranger.path('/members')), 404, 'not_found');
    expectError(await owner.call(stranger.path('/leave'), { method: 'POST' }), 404, 'not_found');
  });
});
