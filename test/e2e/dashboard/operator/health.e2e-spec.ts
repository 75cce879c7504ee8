import { SERVICE_VERSION } from '../../../../src/core/types/service-version';
import type { TestCustomer, TestGateway } from '../../../harness/gateway';
import { chunk, usageChunk } from '../../../harness/upstream-models';
import { OPERATOR, OperatorStage, until } from './operator-stage';

describe('operators and the health of providers', () => {
  let stage: OperatorStage;
  let replica: TestGateway;
  let customer: TestCustomer;

  beforeAll(async () => {
    stage = await OperatorStage.start({ CIRCUIT_BREAKER_FAILURES: '2', MAX_ATTEMPTS: '1' });
    replica = await stage.startReplica();
    customer = await stage.gateway.customer();
  });
  afterAll(async () => {
    await replica.stop();
    await stage.stop();
  });

  const healthOf = async (model: string) => {
    const { json } = await stage.operator.call(`${OPERATOR}/providers`);
    const all = json.data.flatMap(({ deployments }: { deployments: { model: string }[] }) => deployments);
    return all.find((deployment: { model: string }) => deployment.model === model);
  };

  it('shows a failing deployment, and calls it again in all processes after a breaker reset', async () => {
    const { answer } = stage.upstream;
    expect((await stage.ask(customer, 'local/chat')).status).toBe(200);
    expect(await healthOf('local/chat')).toMatchObject({ state: 'closed', shared_state: 'closed', last_failure: null });
    stage.upstream.answer = (response) => {
      response.statusCode = 401;
      response.end('{"error":{"message":"no"}}');
    };
    expect((await stage.ask(customer, 'local/chat')).status).toBe(502);
    stage.upstream.answer = answer;
    const open = await healthOf('local/chat');
    expect(open).toMatchObject({
      state: 'open',
      shared_state: 'open',
      wait_ms: expect.any(Number),
      last_failure: { code: 'provider_error' },
    });
    const onReplica = async (): Promise<number> => (await stage.ask(customer, 'local/chat', {}, replica)).status;
    await until('the other process applies the change', async () => (await onReplica()) === 503);
    const path = `${OPERATOR}/deployments/${open.deployment_id}/reset-breaker`;
    const reset = await stage.operator.call(path, { method: 'POST' });
    expect(reset.json).toMatchObject({ state: 'closed', shared_state: 'closed', wait_ms: 0, failures: 0 });
    expect((await stage.ask(customer, 'local/chat')).status).toBe(200);
    await until('the other process calls it too', async () => (await onReplica()) === 200);
  });

  it('counts skipped stream events', async () => {
    const { answer } = stage.upstream;
    stage.upstream.answer = (response) => {
      response.setHeader('content-type', 'text/event-stream');
      const begun = chunk({ role: 'assistant', content: 'a' });
      response.end(`${begun}data: {"oops\n\n${chunk({}, 'stop')}${usageChunk(1, 1)}`);
    };
    const reply = await stage.ask(customer, 'local/chat', { stream: true });
    stage.upstream.answer = answer;
    expect([reply.status, reply.events.at(-1)]).toEqual([200, '[DONE]']);
    expect(await healthOf('local/chat')).toMatchObject({ state: 'closed', skipped_events: 1 });
  });

  it('also ends a rate limit cool-down on reset', async () => {
    const { answer } = stage.upstream;
    stage.upstream.answer = (response) => {
      response.statusCode = 429;
      response.setHeader('retry-after', '3000');
      response.end('{"error":{"message":"slow down"}}');
    };
    expect((await stage.ask(customer, 'local/chat')).status).toBe(429);
    stage.upstream.answer = answer;
    const coolingDown = await healthOf('local/chat');
    expect(coolingDown).toMatchObject({ state: 'cooling_down', shared_state: 'cooling_down' });
    expect((await stage.ask(customer, 'local/chat')).status).toBe(429);
    await stage.operator.call(`${OPERATOR}/deployments/${coolingDown.deployment_id}/reset-breaker`, { method: 'POST' });
    expect((await stage.ask(customer, 'local/chat')).status).toBe(200);
  });

  it('calls a deployment again at once after its provider key has changed', async () => {
    const { answer } = stage.upstream;
    stage.upstream.answer = (response, request) => {
      if (request.headers.authorization === 'Bearer the-right-key') return answer(response, request);
      response.statusCode = 401;
      response.end('{"error":{"message":"wrong key"}}');
    };
    const onReplica = async (): Promise<number> => (await stage.ask(customer, 'local/chat', {}, replica)).status;
    expect((await stage.ask(customer, 'local/chat')).status).toBe(502);
    expect((await stage.ask(customer, 'local/chat')).status).toBe(503);
    await until('the other process applies the change', async () => (await onReplica()) === 503);
    const path = `${OPERATOR}/credentials/OPENAI_COMPATIBLE_API_KEY`;
    await stage.operator.call(path, { method: 'PUT', body: { value: 'the-right-key' } });
    expect((await stage.ask(customer, 'local/chat')).status).toBe(200);
    await until('the other process calls it too', async () => (await onReplica()) === 200);
    await until('both agree', async () => {
      const { state, shared_state } = await healthOf('local/chat');
      return state === 'closed' && shared_state === 'closed';
    });
    await stage.operator.call(path, { method: 'DELETE' });
    stage.upstream.answer = answer;
  });

  it('lists processes by their leases', async () => {
    const { json } = await stage.operator.call(`${OPERATOR}/instances`);
    expect(json.data).toHaveLength(2);
    expect(json.data).toEqual(
      Array(2).fill(expect.objectContaining({ object: 'instance', alive: true, version: SERVICE_VERSION })),
    );
  });

  it('lists the leases of periodic tasks, with the process that has or had them', async () => {
    const leaseOf = async (task: string) => {
      const { json } = await stage.operator.call(`${OPERATOR}/task-leases`);
      return json.data.find((lease: { task: string }) => lease.task === task);
    };
    await until('the first audit has completed', async () => (await leaseOf('ledger_audit')).owner !== null);
    await stage.gateway.pool.query(
      `UPDATE task_lease SET until = now() + interval '1 hour' WHERE name = 'ledger_closing'`,
    );
    expect(await leaseOf('ledger_closing')).toMatchObject({ object: 'task_lease', held: true });
    await stage.gateway.pool.query(
      `UPDATE task_lease SET owner = 'host:1', until = '2026-01-01Z' WHERE name = 'ledger_closing'`,
    );
    expect(await leaseOf('ledger_closing')).toEqual({
      object: 'task_lease',
      task: 'ledger_closing',
      owner: 'host:1',
      held: false,
      until: '2026-01-01T00:00:00.000Z',
    });
    await stage.gateway.pool.query(
      `UPDATE task_lease SET owner = '', until = '-infinity' WHERE name = 'ledger_closing'`,
    );
    expect(await leaseOf('ledger_closing')).toMatchObject({ owner: null, held: false, until: null });
  });

  it('shows a ledger audit that does not complete, and one with a violated invariant', async () => {
    const { pool } = stage.gateway;
    const audit = async () => (await stage.operator.call(`${OPERATOR}/ledger-audit`)).json;
    await until('the first audit has completed', async () => (await audit()).state === 'ok');
    expect(await audit()).toMatchObject({ violation_count: 0, violations: [], failed_at: null, failure: null });
    expect((await audit()).age_seconds).toBeGreaterThanOrEqual(0);

    // An ended request of a day that is not closed yet.
    const [id, day] = ['018cc251-f400-7000-8000-000000000000', '2024-01-01'];
    await pool.query(
      `INSERT INTO ended_reservation (id, organization_id, key_id, state, amount_micro, uncollected_micro, created_at,
                                      ended_at, is_job)
       VALUES ($1, $2, $2, 'released', 0, 0, $3, now(), false)`,
      [id, customer.organizationId, day],
    );
    expect(await audit()).toMatchObject({ oldest_open_day: day });
    await pool.query(`
      ALTER TABLE ended_reservation DISABLE TRIGGER ended_reservation_is_append_only;
      DELETE FROM ended_reservation WHERE id = '${id}';
      ALTER TABLE ended_reservation ENABLE TRIGGER ended_reservation_is_append_only`);

    await pool.query(`UPDATE ledger_audit SET failed_at = clock_timestamp(), failure = 'too slow'`);
    expect(await audit()).toMatchObject({ state: 'stale', failure: 'too slow', violation_count: 0 });

    const violations = [{ invariant: 'I1 balance is the sum of the ledger', subject: customer.organizationId }];
    await pool.query('UPDATE ledger_audit SET violation_count = 1, violations = $1', [JSON.stringify(violations)]);
    expect(await audit()).toMatchObject({ state: 'failed', violation_count: 1, violations });
    await pool.query(
      `UPDATE ledger_audit SET violation_count = 0, violations = '[]', failed_at = NULL, failure = NULL`,
    );
  });
});
