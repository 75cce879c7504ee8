import { randomUUID } from 'node:crypto';
import { SessionService } from '../../src/dashboard/accounts/session.service';
import { COMMAND_LINE } from '../../src/core/types/actor';
import type { Role } from '../../src/core/types/role';
import { OrganizationService } from '../../src/dashboard/organizations/organization.service';
import type { CallOptions, CallReply, TestGateway } from './gateway';
import { documentOf, findOperation, openapiDocument } from './openapi-document';

export interface DashboardUserOptions {
  /** In `organizationId`; without it the user is a member of no organization. */
  readonly role?: Role | null;
  /** A new one when not given. */
  readonly organizationId?: string;
  readonly operator?: boolean;
}

/** A user who is signed in to the dashboard. Created in the database: other tests cover the login. */
export class DashboardClient {
  private constructor(
    private readonly gateway: TestGateway,
    readonly userId: string,
    readonly organizationId: string,
    readonly email: string,
    readonly sessionId: string,
    /** As a browser sends it. */
    readonly cookie: string,
  ) {}

  static async signIn(gateway: TestGateway, options: DashboardUserOptions = {}): Promise<DashboardClient> {
    const { role = 'owner', operator = false } = options;
    const userId = randomUUID();
    const email = `${userId}@example.com`;
    const organizationId =
      options.organizationId ??
      (await gateway.app.get(OrganizationService, { strict: false }).create({ name: 'test' }, COMMAND_LINE)).id;
    await gateway.rows(
      `INSERT INTO user_account (id, email, email_key, name, password_hash, is_operator, email_verified_at)
       VALUES ($1, $2, $2, 'Test User', 'none', $3, now())`,
      [userId, email, operator],
    );
    if (role !== null) {
      await gateway.rows('INSERT INTO organization_member (organization_id, user_id, role) VALUES ($1, $2, $3)', [
        organizationId,
        userId,
        role,
      ]);
    }
    const sessions = gateway.app.get(SessionService, { strict: false });
    const { id, token } = await sessions.create(userId, { address: '127.0.0.1', userAgent: 'test' });
    return new DashboardClient(gateway, userId, organizationId, email, id, `sid=${token}`);
  }

  /** A path within the user's organization. */
  path(below: string): string {
    return `/dashboard/api/organizations/${this.organizationId}${below}`;
  }

  /**
   * Sends one request like a page of the dashboard. Validates the response against the OpenAPI document, and the audit
   * log entry of a successful change.
   */
  async call(path: string, options: CallOptions = {}): Promise<CallReply> {
    const method = options.method ?? (options.body === undefined ? 'GET' : 'POST');
    const reply = await this.gateway.call(path, {
      ...options,
      method,
      headers: { cookie: this.cookie, 'x-requested-with': 'test', ...options.headers },
    });
    if (method !== 'GET' && reply.status < 300) await this.assertAudited(method, path, reply);
    return reply;
  }

  private async assertAudited(method: string, path: string, reply: CallReply): Promise<void> {
    const action = findOperation(openapiDocument(documentOf(path)), method, path)?.node.value['x-audit'];
    const requestId = reply.headers.get('x-request-id');
    const entries = await this.gateway.rows<{ action: string }>(
      'SELECT action FROM audit_entry WHERE request_id = $1 AND actor_user_id = $2',
      [requestId, this.userId],
    );
    const actions = entries.map((entry) => entry.action);
    // Operations without a change have no `x-audit`, and write no entry.
    if (action === undefined ? actions.length > 0 : !actions.includes(action as string)) {
      throw new Error(`${method} ${path} left ${JSON.stringify(actions)} in the audit log, not ${String(action)}`);
    }
  }
}
