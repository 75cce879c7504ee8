import { randomUUID } from 'node:crypto';
import { GatewayError } from '../../../../src/core/errors/gateway-error';
import { ROLES, type Role } from '../../../../src/core/types/role';
import { Mailer } from '../../../../src/core/mail/mailer';
import type { DashboardClient } from '../../../harness/dashboard-client';
import type { CallReply } from '../../../harness/gateway';
import { accept, expectError, invite, leave, remove, setRole, MembersStage } from './people';

let stage: MembersStage;

beforeAll(async () => {
  stage = await MembersStage.start();
});

afterAll(() => stage.gateway.stop());

const newEmail = (): string => `${randomUUID()}@example.com`;

function preview(token: string): Promise<CallReply> {
  const headers = { 'x-requested-with': 'test' };
  return stage.gateway.call('/dashboard/api/invitations/preview', { body: { token }, headers });
}

/** Neither accepted nor shown, with the same error. */
async function expectInvalid(guest: DashboardClient, token: string): Promise<void> {
  const [accepted, shown] = [await accept(guest, token), await preview(token)];
  expectError(accepted, 404, 'not_found');
  expectError(shown, 404, 'not_found');
  expect(shown.json.error.message).toBe(accepted.json.error.message);
}

describe('an invitation', () => {
  it.each(ROLES)('makes the owner of the address a %s, once', async (role) => {
    const owner = await stage.user();
    const guest = await stage.user();
    const { status, json, text } = await invite(owner, guest.email.toUpperCase(), role);
    expect(status).toBe(201);
    expect(json).toMatchObject({ email: guest.email.toUpperCase(), role, status: 'open', invited_by: owner.userId });
    const token = stage.tokenOf(json.email);
    expect(token).toHaveLength(43);
    expect(text).not.toContain(token);
    expect((await owner.call(owner.path('/invitations'))).json.data).toEqual([json]);

    const accepted = await accept(guest, token);
    expect(accepted.json).toMatchObject({ id: owner.organizationId, role });
    expect((await stage.rolesOf(owner))[guest.userId]).toBe(role);
    await expectInvalid(guest, token);
    expect((await owner.call(owner.path('/invitations'))).json.data).toEqual([]);
    expectError(await invite(owner, guest.email), 409, 'conflict');
    expect((await owner.call(owner.path('/audit-log'))).text).not.toContain(token);
  });

  it('quotes the name of the organization without rendering a link', async () => {
    const owner = await stage.user();
    const rename = { method: 'PATCH', body: { name: 'Visit https://evil.example' } };
    expectError(await owner.call(owner.path(''), rename), 400, 'validation_failed', 'name');
    // A name from before URLs were refused.
    const name = 'Acme" or https://evil.example/login';
    await stage.gateway.rows('UPDATE organization SET name = $2 WHERE id = $1', [owner.organizationId, name]);
    const email = newEmail();
    await invite(owner, email);
    const text = stage.mails.findLast(({ to }) => to === email)?.text ?? '';
    expect(text.replaceAll('\u200B', '')).toContain(`"Acme' or https://evil.example/login" with`);
    expect(text).not.toContain('https://evil');
    expect(text).not.toContain('evil.example');
  });

  it('shows the holder of its token who invites whom to what, without a session', async () => {
    const owner = await stage.user();
    const email = newEmail();
    const { expires_at: expiresAt } = (await invite(owner, email, 'admin')).json;
    const shown = await preview(stage.tokenOf(email));
    expect(shown.status).toBe(200);
    expect(shown.json).toEqual({
      object: 'invitation_preview',
      organization_name: 'test',
      email,
      role: 'admin',
      invited_by: { name: 'Test User', email: owner.email },
      expires_at: expiresAt,
    });
  });

  it('is invalid for other users, after seven days, and when withdrawn', async () => {
    const owner = await stage.user();
    const [guest, thief] = [await stage.user(), await stage.user()];
    const { id, created_at: from, expires_at: to } = (await invite(owner, guest.email)).json;
    expect(Date.parse(to) - Date.parse(from)).toBe(7 * 24 * 3_600_000);
    expectError(await accept(thief, stage.tokenOf(guest.email)), 404, 'not_found');
    await stage.gateway.rows('UPDATE organization_invitation SET expires_at = now() WHERE id = $1', [id]);
    await expectInvalid(guest, stage.tokenOf(guest.email));
    expect((await owner.call(owner.path('/invitations'))).json.data[0].status).toBe('expired');

    await invite(owner, guest.email);
    expect((await owner.call(owner.path(`/invitations/${id}`), { method: 'DELETE' })).status).toBe(204);
    await expectInvalid(guest, stage.tokenOf(guest.email));
    expectError(await owner.call(owner.path(`/invitations/${id}`), { method: 'DELETE' }), 404, 'not_found');
    for (const token of ['x', 'a'.repeat(43), '\ud83d\ude00']) await expectInvalid(guest, token);
  });

  it('of the same address is replaced: one is open, and only its last token is valid', async () => {
    const owner = await stage.user();
    const guest = await stage.user();
    const first = (await invite(owner, guest.email, 'viewer')).json;
    const old = stage.tokenOf(guest.email);
    const second = (await invite(owner, guest.email, 'admin')).json;
    expect([second.id, second.role]).toEqual([first.id, 'admin']);
    await expectInvalid(guest, old);
    expect((await accept(guest, stage.tokenOf(guest.email))).json.role).toBe('admin');
  });

  it('is accepted once under concurrency', async () => {
    const owner = await stage.user();
    const guest = await stage.user();
    await invite(owner, guest.email);
    const replies = await Promise.all(Array.from({ length: 8 }, () => accept(guest, stage.tokenOf(guest.email))));
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(1);
    for (const reply of replies.filter(({ status }) => status !== 200)) expectError(reply, 404, 'not_found');
  });

  it('exists once for concurrent invitations of an address', async () => {
    const owner = await stage.user();
    const email = newEmail();
    const replies = await Promise.all(Array.from({ length: 5 }, () => invite(owner, email)));
    expect(new Set(replies.map(({ json }) => json.id)).size).toBe(1);
    expect((await owner.call(owner.path('/invitations'))).json.data).toHaveLength(1);
  });

  it('as an owner is neither replaced nor withdrawn by an admin', async () => {
    const owner = await stage.user();
    const admin = await stage.colleague(owner, 'admin');
    const email = newEmail();
    const { id } = (await invite(owner, email, 'owner')).json;
    const token = stage.tokenOf(email);
    expectError(await invite(admin, email, 'viewer'), 403, 'forbidden');
    expectError(await admin.call(admin.path(`/invitations/${id}`), { method: 'DELETE' }), 403, 'forbidden');
    expect(stage.tokenOf(email)).toBe(token);
    expect((await owner.call(owner.path('/invitations'))).json.data).toMatchObject([{ id, role: 'owner' }]);
  });

  it.each<[string, (by: DashboardClient, of: DashboardClient) => Promise<CallReply>, Role[]]>([
    ['is removed', remove, []],
    ['leaves', (_by, of) => leave(of), []],
    ['becomes a developer', (by, of) => setRole(by, of, 'developer'), []],
    ['becomes an admin', (by, of) => setRole(by, of, 'admin'), ['admin']],
  ])('is withdrawn when its sender %s and could no longer grant its role', async (_what, act, left) => {
    const owner = await stage.user();
    const sender = await stage.colleague(owner, 'owner');
    const guests = await Promise.all([stage.user(null), stage.user(null)]);
    const roles: Role[] = ['owner', 'admin'];
    for (const [index, role] of roles.entries()) await invite(sender, (guests[index] as DashboardClient).email, role);
    await invite(owner, newEmail(), 'owner');
    expect((await act(owner, sender)).status).toBeLessThan(300);
    for (const [index, role] of roles.entries()) {
      const guest = guests[index] as DashboardClient;
      expect((await accept(guest, stage.tokenOf(guest.email))).status).toBe(left.includes(role) ? 200 : 404);
    }
    const { json } = await owner.call(owner.path('/invitations'));
    expect(json.data).toEqual([expect.objectContaining({ invited_by: owner.userId })]);
    const { json: log } = await owner.call(owner.path('/audit-log?action=invitation.deleted'));
    expect(log.data).toHaveLength(roles.length - left.length);
  });

  it('is not created for a guest whose acceptance commits meanwhile', async () => {
    const owner = await stage.user();
    const guest = await stage.user(null);
    await invite(owner, guest.email);
    const { gateway } = stage;
    const acceptance = await gateway.pool.connect();
    await acceptance.query('BEGIN');
    await acceptance.query('DELETE FROM organization_invitation WHERE organization_id = $1', [owner.organizationId]);
    await acceptance.query(
      `INSERT INTO organization_member (organization_id, user_id, role) VALUES ($1, $2, 'viewer')`,
      [owner.organizationId, guest.userId],
    );
    const invited = invite(owner, guest.email);
    await gateway.untilLockWaits(1);
    await acceptance.query('COMMIT');
    acceptance.release();
    expectError(await invited, 409, 'conflict');
  });

  it('of a member is withdrawn when the member is removed', async () => {
    const owner = await stage.user();
    const guest = await stage.user(null);
    await invite(owner, guest.email);
    await stage.gateway.rows(
      `INSERT INTO organization_member (organization_id, user_id, role) VALUES ($1, $2, 'viewer')`,
      [owner.organizationId, guest.userId],
    );
    expect((await remove(owner, guest)).status).toBe(204);
    await expectInvalid(guest, stage.tokenOf(guest.email));
  });

  it('is invalid while the account of its sender is disabled', async () => {
    const owner = await stage.user();
    const [sender, guest] = [await stage.colleague(owner, 'admin'), await stage.user(null)];
    await invite(sender, guest.email);
    const setStatus = (status: string) =>
      stage.gateway.rows('UPDATE user_account SET status = $2 WHERE id = $1', [sender.userId, status]);
    const statusOfInvitation = async () => (await owner.call(owner.path('/invitations'))).json.data[0].status;

    await setStatus('disabled');
    await expectInvalid(guest, stage.tokenOf(guest.email));
    expect(await statusOfInvitation()).toBe('expired');
    await setStatus('active');
    expect(await statusOfInvitation()).toBe('open');
    expect((await accept(guest, stage.tokenOf(guest.email))).status).toBe(200);
  });

  it('does not change the role of a user who is already a member', async () => {
    const owner = await stage.user();
    const guest = await stage.user();
    await invite(owner, guest.email, 'viewer');
    await stage.gateway.rows(
      `INSERT INTO organization_member (organization_id, user_id, role) VALUES ($1, $2, 'admin')`,
      [owner.organizationId, guest.userId],
    );
    expectError(await accept(guest, stage.tokenOf(guest.email)), 409, 'conflict');
    expect((await stage.rolesOf(owner))[guest.userId]).toBe('admin');
  });

  it.each([
    'no-at-sign',
    'a b@example.com',
    'a@example.com\nBcc: b@example.com',
    'a@example.com,b@example.com',
    '<a@example.com>',
    'ä@example.com',
    'a@-example.com',
    `${'a'.repeat(65)}@example.com`,
    `a@${'b'.repeat(253)}.com`,
  ])('is not sent to %j', async (email) => {
    const owner = await stage.user();
    const sent = stage.mails.length;
    expectError(await invite(owner, email), 400, 'validation_failed', 'email');
    expect(stage.mails).toHaveLength(sent);
  });

  it('is refused above a hundred per organization', async () => {
    const owner = await stage.user();
    const email = newEmail();
    await stage.gateway.rows(
      `INSERT INTO organization_invitation (id, organization_id, email, email_key, role, digest, created_at, expires_at)
       SELECT gen_random_uuid(), $1::uuid, n || $2::text, n || $2::text, 'viewer',
              sha256(convert_to($1::uuid::text || n, 'UTF8')), now(), now() FROM generate_series(1, 100) n`,
      [owner.organizationId, '.' + email],
    );
    expectError(await invite(owner, newEmail()), 409, 'conflict');
    expect((await invite(owner, `7.${email}`)).status).toBe(201);
  });

  it('is not created without a mail server', async () => {
    const owner = await stage.user();
    const mailer = stage.gateway.app.get(Mailer, { strict: false });
    const assertConfigured = jest.spyOn(mailer, 'assertConfigured').mockImplementation(() => {
      throw new GatewayError('not_configured', 'No mail can be sent.');
    });
    expectError(await invite(owner, newEmail()), 501, 'not_configured');
    assertConfigured.mockRestore();
    expect((await owner.call(owner.path('/invitations'))).json.data).toEqual([]);
  });

  it('is mailed to an address five times an hour per user, ten times in all; unsent ones do not count', async () => {
    const owners = await Promise.all([stage.user(), stage.user(), stage.user()]);
    const email = newEmail();
    const gateway = stage.gateway;
    const headers = { 'x-requested-with': 'test' };
    for (let request = 0; request < 12; request++) {
      await gateway.call('/dashboard/api/password-resets', { body: { email }, headers });
    }
    const statuses: number[] = [];
    for (const owner of owners) {
      // A refused invitation sends no mail.
      for (let round = 0; round < 2; round++) expectError(await invite(owner, owner.email), 409, 'conflict');
      for (let round = 0; round < 6; round++) statuses.push((await invite(owner, email)).status);
    }
    const five = Array.from({ length: 5 }, () => 201);
    expect(statuses).toEqual([...five, 429, ...five, 429, 429, 429, 429, 429, 429, 429]);
    expect(stage.mails.filter(({ to }) => to === email)).toHaveLength(10);
  });

  it('is limited to fifty an hour per user, over all organizations', async () => {
    const owner = await stage.user();
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
