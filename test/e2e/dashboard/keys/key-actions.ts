/** Dashboard actions on API keys. */
import { randomUUID } from 'node:crypto';
import { LedgerService } from '../../../../src/billing/ledger/ledger.service';
import { until } from '../../../faults/figures';
import type { DashboardClient } from '../../../harness/dashboard-client';
import type { CallReply, TestGateway } from '../../../harness/gateway';

export type Json = CallReply['json'];

export const keysOf = (client: DashboardClient, below = ''): string => client.path(`/keys${below}`);

/** Creates a key and returns the response. */
export async function create(
  client: DashboardClient,
  settings: object = {},
): Promise<{ readonly id: string; readonly key: string; readonly json: Json }> {
  const { status, json } = await client.call(keysOf(client), { body: settings });
  expect(status).toBe(201);
  return { id: json.api_key.id, key: json.key, json };
}

export const act = (client: DashboardClient, id: string, action: string, body?: object): Promise<CallReply> =>
  client.call(keysOf(client, `/${id}/${action}`), { method: 'POST', body });

export const patch = (client: DashboardClient, id: string, body: object): Promise<CallReply> =>
  client.call(keysOf(client, `/${id}`), { method: 'PATCH', body });

export const get = async (client: DashboardClient, id: string): Promise<Json> =>
  (await client.call(keysOf(client, `/${id}`))).json;

/** Credits the client's organization. */
export async function credit(gateway: TestGateway, { organizationId }: DashboardClient): Promise<void> {
  await gateway.app.get(LedgerService, { strict: false }).topUp(organizationId, 10_000_000n, randomUUID());
}

export const ask = (gateway: TestGateway, key: string): Promise<CallReply> =>
  gateway.call('/v1/chat/completions', {
    key,
    body: { model: 'mock/chat-1', max_tokens: 5, messages: [{ role: 'user', content: 'Hello' }] },
  });

/** Repeats the request until the response matches, because processes learn of changes asynchronously. */
export async function becomes(gateway: TestGateway, expected: string, key: string): Promise<void> {
  await until(`the response ${expected}`, 60_000, async () => {
    const reply = await ask(gateway, key);
    return expected === (reply.status === 200 ? '200' : `${reply.status} ${reply.json.error.code}`);
  });
}

export function expectError(reply: CallReply, status: number, code: string, param?: string): void {
  expect([reply.status, reply.json.error.code, reply.json.error.param]).toEqual([status, code, param]);
}
