/** Members of an organization and their actions. */
import type { Role } from '../../../../src/core/types/role';
import { type Mail, Mailer } from '../../../../src/core/mail/mailer';
import type { DashboardClient } from '../../../harness/dashboard-client';
import { type CallReply, TestGateway } from '../../../harness/gateway';

export class MembersStage {
  /** Mails sent so far. */
  readonly mails: Mail[] = [];

  private constructor(readonly gateway: TestGateway) {}

  static async start(): Promise<MembersStage> {
    const stage = new MembersStage(await TestGateway.start());
    const mailer = stage.gateway.app.get(Mailer, { strict: false });
    jest.spyOn(mailer, 'send').mockImplementation(async (mail) => {
      stage.mails.push(mail);
    });
    return stage;
  }

  /** A user with this role in a new organization; without a role, a user without memberships. */
  user(role: Role | null = 'owner'): Promise<DashboardClient> {
    return this.gateway.dashboardUser({ role });
  }

  /** A user with this role in the organization of another user. */
  colleague({ organizationId }: DashboardClient, role: Role): Promise<DashboardClient> {
    return this.gateway.dashboardUser({ role, organizationId });
  }

  /** The token of the last mail to an address. */
  tokenOf(email: string): string {
    const mail = this.mails.findLast(({ to }) => to === email);
    return /token=([A-Za-z0-9_-]{43})/.exec(mail?.text ?? '')?.[1] ?? '';
  }

  async rolesOf({ organizationId }: DashboardClient): Promise<Record<string, Role>> {
    const rows = await this.gateway.rows<{ user_id: string; role: Role }>(
      'SELECT user_id, role FROM organization_member WHERE organization_id = $1',
      [organizationId],
    );
    return Object.fromEntries(rows.map(({ user_id: id, role }) => [id, role]));
  }
}

export const setRole = (by: DashboardClient, of: { readonly userId: string }, role: Role): Promise<CallReply> =>
  by.call(by.path(`/members/${of.userId}`), { method: 'PATCH', body: { role } });

export const remove = (by: DashboardClient, of: { readonly userId: string }): Promise<CallReply> =>
  by.call(by.path(`/members/${of.userId}`), { method: 'DELETE' });

export const leave = (client: DashboardClient): Promise<CallReply> =>
  client.call(client.path('/leave'), { method: 'POST' });

export const invite = (by: DashboardClient, email: string, role: Role = 'developer'): Promise<CallReply> =>
  by.call(by.path('/invitations'), { body: { email, role } });

export const accept = (client: DashboardClient, token: string): Promise<CallReply> =>
  client.call('/dashboard/api/invitations/accept', { body: { token } });

export function expectError(reply: CallReply, status: number, code: string, param?: string): void {
  expect([reply.status, reply.json?.error.code, reply.json?.error.param]).toEqual([status, code, param]);
}
