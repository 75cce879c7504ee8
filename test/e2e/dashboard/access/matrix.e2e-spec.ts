import { SessionService } from '../../../../src/dashboard/accounts/session.service';
import { mayActAs, ROLES, type Role } from '../../../../src/core/types/role';
import type { DashboardClient } from '../../../harness/dashboard-client';
import { TestGateway } from '../../../harness/gateway';
import { ask, isMutation, OPERATIONS, pathOf } from './operations';

/** Every operation of the document, called with every role: only `x-access` decides who is authorized. */
const CALLERS = ['anonymous', 'signed out', 'outsider', ...ROLES, 'operator'] as const;
type CallerKind = (typeof CALLERS)[number];

let gateway: TestGateway;
let organizationId: string;
beforeAll(async () => {
  gateway = await TestGateway.start();
  ({ organizationId } = await gateway.dashboardUser());
});
afterAll(() => gateway.stop());

/** Created for every call, because some operations end a session or a membership. */
async function signIn(kind: CallerKind): Promise<DashboardClient | null> {
  switch (kind) {
    case 'anonymous':
      return null;
    case 'signed out':
      return signOut(await gateway.dashboardUser({ organizationId, operator: true }));
    case 'outsider':
      return gateway.dashboardUser();
    case 'operator':
      return gateway.dashboardUser({ organizationId, role: null, operator: true });
    default:
      return gateway.dashboardUser({ organizationId, role: kind });
  }
}

/** A former owner and operator with the cookie of an ended session. */
async function signOut(client: DashboardClient): Promise<DashboardClient> {
  await gateway.app.get(SessionService, { strict: false }).end(client.sessionId, client.userId);
  return client;
}

/** The refusal of the access check; `null`: authorized. */
function expectedRefusal(access: string, kind: CallerKind): string | null {
  if (access === 'anonymous' || access === 'machine') return null;
  if (kind === 'anonymous' || kind === 'signed out') return 'unauthenticated';
  if (access === 'user') return null;
  if (access === 'operator') return kind === 'operator' ? null : 'forbidden';
  if (kind === 'outsider' || kind === 'operator') return 'no such organization';
  return mayActAs(kind, access as Role) ? null : 'forbidden';
}

function refusalIn(error: { code: string; message: string } | undefined): string | null {
  if (error?.code === 'unauthenticated' || error?.code === 'csrf_failed') return error.code;
  if (error?.code === 'forbidden' && error.message === 'Your role does not allow this.') return 'forbidden';
  return error?.message === 'There is no such organization.' ? 'no such organization' : null;
}

describe.each(OPERATIONS.map((operation) => [operation.operationId, operation] as const))('%s', (_id, operation) => {
  it(`authorizes only ${operation.access}`, async () => {
    const verdicts = await Promise.all(
      CALLERS.map(async (kind) => {
        const reply = await ask(gateway, operation, pathOf(operation, organizationId), await signIn(kind));
        // For operators, the operation itself returns the 404 of an unknown organization.
        const refusal = refusalIn(reply.json?.error);
        const own = refusal === 'no such organization' && operation.access === 'operator';
        return [kind, own ? null : refusal];
      }),
    );
    expect(verdicts).toEqual(CALLERS.map((kind) => [kind, expectedRefusal(operation.access, kind)]));
  });

  if (isMutation(operation) && operation.access !== 'machine') {
    it('refuses a cross-site change with csrf_failed', async () => {
      const path = pathOf(operation, organizationId);
      const sites: Record<string, string>[] = [
        {},
        { 'x-requested-with': 'test', 'sec-fetch-site': 'cross-site' },
        { 'x-requested-with': 'test', origin: 'https://elsewhere.example' },
        { 'x-requested-with': 'test', origin: 'null' },
      ];
      const codes = await Promise.all(
        sites.map(async (headers) => {
          const client = operation.access === 'anonymous' ? null : await signIn('owner');
          return (await ask(gateway, operation, path, client, headers)).json?.error.code as string;
        }),
      );
      expect(codes).toEqual(sites.map(() => 'csrf_failed'));
    });
  }
});
