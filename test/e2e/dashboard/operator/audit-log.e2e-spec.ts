import { randomUUID } from 'node:crypto';
import type { DashboardClient } from '../../../harness/dashboard-client';
import { TestGateway } from '../../../harness/gateway';
import { OPERATOR } from './operator-stage';

let gateway: TestGateway;
let operator: DashboardClient;
beforeAll(async () => {
  gateway = await TestGateway.start();
  operator = await gateway.dashboardUser({ operator: true });
});
afterAll(() => gateway.stop());

const read = async (query: string) => (await operator.call(`${OPERATOR}/audit-log?${query}`)).json;

describe('the audit log for operators', () => {
  it('shows changes of the platform with the staff who made them, newest first, in pages', async () => {
    const user = await gateway.dashboardUser();
    const path = `${OPERATOR}/users/${user.userId}`;
    const disabled = await operator.call(`${path}/disable`, { method: 'POST' });
    await operator.call(`${path}/enable`, { method: 'POST' });
    const colleague = await gateway.dashboardUser({ operator: true });
    await colleague.call(`${path}/disable`, { method: 'POST' });

    const { data, next_cursor: end } = await read(`actor=${operator.userId}`);
    expect(data.map(({ action }: { action: string }) => action)).toEqual(['user.enabled', 'user.disabled']);
    expect(end).toBeNull();
    expect(data[1]).toMatchObject({
      object: 'operator.audit_entry',
      organization_id: null,
      actor: { kind: 'operator', user_id: operator.userId, email: operator.email, name: 'Test User' },
      address: '127.0.0.1',
      request_id: disabled.headers.get('x-request-id'),
      target: { type: 'user', id: user.userId },
    });
    expect((await read(`actor=${operator.userId}&action=user.disabled`)).data).toEqual([data[1]]);
    expect((await read(`actor=${operator.userId}&to=${data[0].created_at}`)).data).toEqual([data[1]]);
    const first = await read(`actor=${operator.userId}&limit=1`);
    const rest = await read(`actor=${operator.userId}&limit=1&cursor=${first.next_cursor}`);
    expect([...first.data, ...rest.data]).toEqual(data);
    expect((await read('action=user.disabled')).data[0].actor.email).toBe(colleague.email);
  });

  it('shows the changes to one organization, by its members and by staff, and no others', async () => {
    const owner = await gateway.dashboardUser();
    await owner.call(owner.path(''), { method: 'PATCH', body: { name: 'Acme' } });
    const suspend = `${OPERATOR}/organizations/${owner.organizationId}/suspend`;
    await operator.call(suspend, { body: { reason: 'not paid' } });
    const { data } = await read(`organization_id=${owner.organizationId}&limit=2`);
    expect(data).toMatchObject([
      { action: 'organization.suspended', actor: { kind: 'operator', email: operator.email } },
      { action: 'organization.updated', actor: { kind: 'user', email: owner.email }, after: { name: 'Acme' } },
    ]);
    const shown = new Set(data.map((entry: { organization_id: string }) => entry.organization_id));
    expect(shown).toEqual(new Set([owner.organizationId]));
    const { json: own } = await owner.call(owner.path('/audit-log?action=organization.suspended'));
    expect(own.data[0].actor).toEqual({ kind: 'operator', user_id: null, email: null });
    expect(own.data[0]).toMatchObject({ address: null, request_id: null });
    expect((await read(`organization_id=${randomUUID()}`)).data).toEqual([]);
    const refused = await operator.call(`${OPERATOR}/audit-log?organization_id=none`);
    expect(refused).toMatchObject({ status: 400, json: { error: { param: 'organization_id' } } });
  });
});
