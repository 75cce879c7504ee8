import { randomUUID } from 'node:crypto';
import { GatewayError } from '../../../../src/common/errors/gateway-error';
import { ROLES, type Role } from '../../../../src/common/role';
import { Mailer } from '../../../../src/mail/mailer';
import type { DashboardClient } from '../../../harness/dashboard-client';
import type { CallReply } from '../../../harness/gateway';
import { accept, expectError, invite, leave, remove, setRole, Town } from './people';

let town: Town;

beforeAll(async () => {
  town = await Town.start();
});

afterAll(() => town.gateway.stop());

const newEmail = (): string => `${randomUUID()}@example.com`;

describe('an invitation', () => {
  it.each(ROLES)('makes whoever reads the address a %s, once', async (role) => {
    const owner = await town.user();
    const guest = await town.user();
    const { status, json, text } = await invite(owner, guest.email.toUpperCase(), role);
    expect(status).toBe(201);
    expect(json).toMatchObject({ email: guest.email.toUpperCase(), role, status: 'open', invited_by: owner.userId });
    const token = town.tokenOf(json.email);
    expect(token).toHaveLength(43);
    expect(text).not.toContain(token);
    expect((await owner.call(owner.path('/invitations'))).json.data).toEqual([json]);

    const accepted = await accept(guest, token);
    expect(accepted.json).toMatchObject({ id: owner.organizationId, role });
    expect((await town.rolesOf(owner))[guest.userId]).toBe(role);
    expectError(await accept(guest, token), 404, 'not_found');
    expect((await owner.call(owner.path('/invitations'))).json.data).toEqual([]);
    expectError(await invite(owner, guest.email), 409, 'conflict');
    expect((await owner.call(owner.path('/audit-log'))).text).not.toContain(token);
  });

  it('is worth nothing to anybody else, after seven days, or when it was withdrawn', async () => {
    const owner = await town.user();
    const [guest, thief] = [await town.user(), await town.user()];
    const { id, created_at: from, expires_at: to } = (await invite(owner, guest.email)).json;
    expect(Date.parse(to) - Date.parse(from)).toBe(7 * 24 * 3_600_000);
    expectError(await accept(thief, town.tokenOf(guest.email)), 404, 'not_found');
    await town.gateway.rows('UPDATE organization_invitation SET expires_at = now() WHERE id = $1', [id]);
    expectError(await accept(guest, town.tokenOf(guest.email)), 404, 'not_found');
    expect((await owner.call(owner.path('/invitations'))).json.data[0].status).toBe('expired');

    await invite(owner, guest.email);
    expect((await owner.call(owner.path(`/invitations/${id}`), { method: 'DELETE' })).status).toBe(204);
    expectError(await accept(guest, town.tokenOf(guest.email)), 404, 'not_found');
    expectError(await owner.call(owner.path(`/invitations/${id}`), { method: 'DELETE' }), 404, 'not_found');
    for (const token of ['x', 'a'.repeat(43), '\ud83d\ude00'])
      expectError(await accept(guest, token), 404, 'not_found');
  });

  it('of the same address is renewed: one is open, and only its last token counts', async () => {
    const owner = await town.user();
    const guest = await town.user();
    const first = (await invite(owner, guest.email, 'viewer')).json;
    const old = town.tokenOf(guest.email);
    const second = (await invite(owner, guest.email, 'admin')).json;
    expect([second.id, second.role]).toEqual([first.id, 'admin']);
    expectError(await accept(guest, old), 404, 'not_found');
    expect((await accept(guest, town.tokenOf(guest.email))).json.role).toBe('admin');
  });

  it('is accepted once, however many try at once', async () => {
    const owner = await town.user();
    const guest = await town.user();
    await invite(owner, guest.email);
    const replies = await Promise.all(Array.from({ length: 8 }, () => accept(guest, town.tokenOf(guest.email))));
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(1);
    for (const reply of replies.filter(({ status }) => status !== 200)) expectError(reply, 404, 'not_found');
  });

  it('is one, however often an address is invited at once', async () => {
    const owner = await town.user();
    const email = newEmail();
    const replies = await Promise.all(Array.from({ length: 5 }, () => invite(owner, email)));
    expect(new Set(replies.map(({ json }) => json.id)).size).toBe(1);
    expect((await owner.call(owner.path('/invitations'))).json.data).toHaveLength(1);
  });

  it('as an owner is neither replaced nor withdrawn by an admin', async () => {
    const owner = await town.user();
    const admin = await town.colleague(owner, 'admin');
    const email = newEmail();
    const { id } = (await invite(owner, email, 'owner')).json;
    const token = town.tokenOf(email);
    expectError(await invite(admin, email, 'viewer'), 403, 'forbidden');
    expectError(await admin.call(admin.path(`/invitations/${id}`), { method: 'DELETE' }), 403, 'forbidden');
    expect(town.tokenOf(email)).toBe(token);
    expect((await owner.call(owner.path('/invitations'))).json.data).toMatchObject([{ id, role: 'owner' }]);
  });

  it.each<[string, (by: DashboardClient, of: DashboardClient) => Promise<CallReply>, Role[]]>([
    ['is removed', remove, []],
    ['leaves', (_by, of) => leave(of), []],
    ['becomes a developer', (by, of) => setRole(by, of, 'developer'), []],
    ['becomes an admin', (by, of) => setRole(by, of, 'admin'), ['admin']],
  ])('opens nothing any more that its sender could not give, when he %s', async (_what, act, left) => {
    const owner = await town.user();
    const sender = await town.colleague(owner, 'owner');
    const guests = await Promise.all([town.user(null), town.user(null)]);
    const roles: Role[] = ['owner', 'admin'];
    for (const [index, role] of roles.entries()) await invite(sender, (guests[index] as DashboardClient).email, role);
    await invite(owner, newEmail(), 'owner');
    expect((await act(owner, sender)).status).toBeLessThan(300);
    for (const [index, role] of roles.entries()) {
      const guest = guests[index] as DashboardClient;
      expect((await accept(guest, town.tokenOf(guest.email))).status).toBe(left.includes(role) ? 200 : 404);
    }
    const { json } = await owner.call(owner.path('/invitations'));
    expect(json.data).toEqual([expect.objectContaining({ invited_by: owner.userId })]);
    const { json: log } = await owner.call(owner.path('/audit-log?action=invitation.deleted'));
    expect(log.data).toHaveLength(roles.length - left.length);
  });

  it('opens nothing while the account of its sender is disabled', async () => {
    const owner = await town.user();
    const [sender, guest] = [await town.colleague(owner, 'admin'), await town.user(null)];
    await invite(sender, guest.email);
    const setStatus = (status: string) =>
      town.gateway.rows('UPDATE user_account SET status = $2 WHERE id = $1', [sender.userId, status]);
    const statusOfInvitation = async () => (await owner.call(owner.path('/invitations'))).json.data[0].status;

    await setStatus('disabled');
    expectError(await accept(guest, town.tokenOf(guest.email)), 404, 'not_found');
    expect(await statusOfInvitation()).toBe('expired');
    await setStatus('active');
    expect(await statusOfInvitation()).toBe('open');
    expect((await accept(guest, town.tokenOf(guest.email))).status).toBe(200);
  });

  it('leaves one who has become a member another way with the role that he has', async () => {
    const owner = await town.user();
    const guest = await town.user();
    await invite(owner, guest.email, 'viewer');
    await town.gateway.rows(
      `INSERT INTO organization_member (organization_id, user_id, role) VALUES ($1, $2, 'admin')`,
      [owner.organizationId, guest.userId],
    );
    expectError(await accept(guest, town.tokenOf(guest.email)), 409, 'conflict');
    expect((await town.rolesOf(owner))[guest.userId]).toBe('admin');
  });

  it.each([
    'nobody',
    'a b@example.com',
    'a@example.com\nBcc: b@example.com',
    'a@example.com,b@example.com',
    '<a@example.com>',
    'ä@example.com',
    'a@-example.com',
    `${'a'.repeat(65)}@example.com`,
    `a@${'b'.repeat(253)}.com`,
  ])('is not sent to %j', async (email) => {
    const owner = await town.user();
    const sent = town.mails.length;
    expectError(await invite(owner, email), 400, 'validation_failed', 'email');
    expect(town.mails).toHaveLength(sent);
  });

  it('is not one more than a hundred', async () => {
    const owner = await town.user();
    const email = newEmail();
    await town.gateway.rows(
      `INSERT INTO organization_invitation (id, organization_id, email, email_key, role, digest, created_at, expires_at)
       SELECT gen_random_uuid(), $1::uuid, n || $2::text, n || $2::text, 'viewer',
              sha256(convert_to($1::uuid::text || n, 'UTF8')), now(), now() FROM generate_series(1, 100) n`,
      [owner.organizationId, '.' + email],
    );
    expectError(await invite(owner, newEmail()), 409, 'conflict');
    expect((await invite(owner, `7.${email}`)).status).toBe(201);
  });

  it('is not made where no mail can be sent', async () => {
    const owner = await town.user();
    const mailer = town.gateway.app.get(Mailer, { strict: false });
    const assertConfigured = jest.spyOn(mailer, 'assertConfigured').mockImplementation(() => {
      throw new GatewayError('not_configured', 'No mail can be sent.');
    });
    expectError(await invite(owner, newEmail()), 501, 'not_configured');
    assertConfigured.mockRestore();
    expect((await owner.call(owner.path('/invitations'))).json.data).toEqual([]);
  });

  it('is mailed to one address five times an hour at most, whoever invites', async () => {
    const owners = await Promise.all(Array.from({ length: 6 }, () => town.user()));
    const email = newEmail();
    const replies = await Promise.all(owners.map((owner) => invite(owner, email)));
    expect(replies.map(({ status }) => status).toSorted()).toEqual([201, 201, 201, 201, 201, 429]);
    expect(town.mails.filter(({ to }) => to === email)).toHaveLength(5);
  });

  it('is the fiftieth of one user in an hour, and no more, also in several organizations', async () => {
    const owner = await town.user();
    const { id: organizationId } = (await owner.call('/dashboard/api/organizations', { body: { name: 'other' } })).json;
    const paths = [owner.path('/invitations'), `/dashboard/api/organizations/${organizationId}/invitations`];
    const statuses: number[] = [];
    for (let index = 0; index < 52; index++) {
      const body = { email: newEmail(), role: 'viewer' };
      statuses.push((await owner.call(paths[index % 2] as string, { body })).status);
    }
    expect(statuses).toEqual([...Array.from({ length: 50 }, () => 201), 429, 429]);
  });
});
