import { SessionService } from '../../../../src/accounts/session.service';
import { mayActAs, ROLES, type Role } from '../../../../src/common/role';
import type { DashboardClient } from '../../../harness/dashboard-client';
import { TestGateway } from '../../../harness/gateway';
import { ask, isMutation, OPERATIONS, pathOf } from './operations';

/** Every operation of the document, asked for by everybody: what `x-access` says, and nothing else, decides who may pass. */
const CALLERS = ['nobody', 'signed out', 'stranger', ...ROLES, 'operator'] as const;
type CallerKind = (typeof CALLERS)[number];

let gateway: TestGateway;
let organizationId: string;
beforeAll(async () => {
  gateway = await TestGateway.start();
  ({ organizationId } = await gateway.dashboardUser());
});
afterAll(() => gateway.stop());

/** Of their own for every question: some of them end a session or a membership. */
async function signIn(kind: CallerKind): Promise<DashboardClient | null> {
  switch (kind) {
    case 'nobody':
      return null;
    case 'signed out':
      return signOut(await gateway.dashboardUser({ organizationId, operator: true }));
    case 'stranger':
      return gateway.dashboardUser();
    case 'operator':
      return gateway.dashboardUser({ organizationId, role: null, operator: true });
    default:
      return gateway.dashboardUser({ organizationId, role: kind });
  }
}

/** The owner and operator that they were, with the cookie of a session that is over. */
async function signOut(client: DashboardClient): Promise<DashboardClient> {
  await gateway.app.get(SessionService, { strict: false }).end(client.sessionId, client.userId);
  return client;
}

/** What the door says; `null`: it lets the caller pass. */
function expectedRefusal(access: string, kind: CallerKind): string | null {
  if (access === 'anonymous' || access === 'machine') return null;
  if (kind === 'nobody' || kind === 'signed out') return 'unauthenticated';
  if (access === 'user') return null;
  if (access === 'operator') return kind === 'operator' ? null : 'forbidden';
  if (kind === 'stranger' || kind === 'operator') return 'no such organization';
  return mayActAs(kind, access as Role) ? null : 'forbidden';
}

function refusalIn(error: { code: string; message: string } | undefined): string | null {
  if (error?.code === 'unauthenticated' || error?.code === 'csrf_failed') return error.code;
  if (error?.code === 'forbidden' && error.message === 'Your role does not allow this.') return 'forbidden';
  return error?.message === 'There is no such organization.' ? 'no such organization' : null;
}

describe.each(OPERATIONS.map((operation) => [operation.operationId, operation] as const))('%s', (_id, operation) => {
  it(`lets pass whom ${operation.access} means, and nobody else`, async () => {
    const verdicts = await Promise.all(
      CALLERS.map(async (kind) => {
        const reply = await ask(gateway, operation, pathOf(operation, organizationId), await signIn(kind));
        // An operator's questions about an organization that does not exist are answered by the operation itself.
        const refusal = refusalIn(reply.json?.error);
        const own = refusal === 'no such organization' && operation.access === 'operator';
        return [kind, own ? null : refusal];
      }),
    );
    expect(verdicts).toEqual(CALLERS.map((kind) => [kind, expectedRefusal(operation.access, kind)]));
  });

  if (isMutation(operation) && operation.access !== 'machine') {
    it('refuses a change that another site may have asked for', async () => {
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
