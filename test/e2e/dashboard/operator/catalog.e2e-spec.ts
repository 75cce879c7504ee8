import { randomUUID } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CatalogRepository } from '../../../../src/models/catalog.repository';
import { importCatalog } from '../../../../src/models/catalog-import';
import { loadCatalog } from '../../../../src/models/load-catalog';
import type { TestCustomer, TestGateway } from '../../../harness/gateway';
import { ANSWER_MICRO, OPERATOR, OperatorStage, until } from './operator-stage';

interface DeploymentRecord {
  readonly id: string;
  readonly upstream_model: string;
  readonly priority: number;
  readonly weight: number;
}

/** A model in the catalogue file of these tests. */
interface FileModel {
  id: string;
  display_name?: string;
  limits?: object;
  deployments: { weight?: number }[];
  prices: object[];
}

describe('operators and the catalogue', () => {
  let stage: OperatorStage;
  let replica: TestGateway;
  let customer: TestCustomer;

  beforeAll(async () => {
    stage = await OperatorStage.start({}, [['local/campaign', 'openai-compatible']]);
    replica = await stage.startReplica();
    customer = await stage.gateway.customer();
  });
  afterAll(async () => {
    await replica.stop();
    await stage.stop();
  });

  const call = (path: string, method = 'GET', body?: object) =>
    stage.operator.call(`${OPERATOR}${path}`, { method, body });
  const modelOf = async (id: string) => {
    const { json } = await call('/models');
    return json.data.find((model: { id: string }) => model.id === id);
  };
  const deploymentsOf = async (model: string): Promise<DeploymentRecord[]> =>
    (await call(`/deployments?model=${model}`)).json.data;
  /** Imports the files, like the next start or `catalog import`. */
  const importFiles = async () =>
    importCatalog(
      stage.gateway.app.get(CatalogRepository, { strict: false }),
      await loadCatalog(stage.catalogDir),
      Date.now(),
    );
  const rewrite = (id: string, change: (model: FileModel) => void): void => {
    const file = join(stage.catalogDir, 'local.json');
    const models = JSON.parse(readFileSync(file, 'utf8')) as FileModel[];
    for (const model of models) if (model.id === id) change(model);
    writeFileSync(file, JSON.stringify(models));
  };
  const perMillion = (micro: number) => ({ tokens: { per_1m_micro: { input: micro, output: micro } } });

  it('lists every model with the reasons why it is not served', async () => {
    expect(await modelOf('local/chat')).toMatchObject({
      served: true,
      not_served_because: [],
      enabled: true,
      decided_enabled: null,
      source: 'file',
    });
    expect(await modelOf('local/unpriced')).toMatchObject({
      served: false,
      not_served_because: ['disabled', 'unpriced'],
    });
    expect(await modelOf('vendor/chat')).toMatchObject({ not_served_because: ['provider_not_configured'] });
    expect(await modelOf('local/unspoken')).toMatchObject({
      not_served_because: ['disabled', 'deployments_disabled'],
    });
  });

  it('disables and enables a model in all processes', async () => {
    const statusOn = async (gateway: TestGateway) => (await stage.ask(customer, 'local/chat', {}, gateway)).status;
    for (const [enabled, expected] of [
      [false, 404],
      [null, 200],
    ] as const) {
      const { json } = await call('/models/local/chat', 'PATCH', { enabled });
      expect(json).toMatchObject({ decided_enabled: enabled, served: enabled !== false });
      expect(await statusOn(stage.gateway)).toBe(expected);
      const startedAtMs = performance.now();
      await until('the other process follows', async () => (await statusOn(replica)) === expected);
      process.stdout.write(`the other process followed after ${(performance.now() - startedAtMs).toFixed(1)} ms\n`);
    }
  });

  it('keeps overrides across imports, while the files update other fields', async () => {
    const [deployment] = await deploymentsOf('local/chat');
    await call('/models/local/chat', 'PATCH', { enabled: false, tokens_per_minute: 5_000_000, concurrency: null });
    await call(`/deployments/${deployment?.id}`, 'PATCH', { priority: 7, weight: 3 });
    rewrite('local/chat', (model) => {
      model.display_name = 'News';
      model.limits = { rps: 900, concurrent: 1 };
      for (const each of model.deployments) each.weight = 9;
    });
    expect((await importFiles()).changed).toEqual(['local/chat']);
    expect((await importFiles()).changed).toEqual([]);
    expect(await modelOf('local/chat')).toMatchObject({
      name: 'News',
      enabled: false,
      requests_per_second: 900,
      tokens_per_minute: 5_000_000,
      concurrency: null,
    });
    expect(await deploymentsOf('local/chat')).toEqual([expect.objectContaining({ priority: 7, weight: 3 })]);
    await call('/models/local/chat', 'PATCH', { enabled: null });
    await call(`/deployments/${deployment?.id}`, 'PATCH', { priority: null, weight: null });
    expect(await deploymentsOf('local/chat')).toEqual([expect.objectContaining({ priority: 0, weight: 9 })]);
    expect((await stage.ask(customer, 'local/chat')).status).toBe(200);
  });

  it('changes the order of deployments and does not call disabled ones', async () => {
    const [one, two] = await deploymentsOf('local/pair');
    const asked = async (): Promise<string> => {
      stage.upstream.received.length = 0;
      expect((await stage.ask(customer, 'local/pair')).status).toBe(200);
      return JSON.parse(stage.upstream.received[0]?.body ?? '{}').model;
    };
    expect(await asked()).toBe(one?.upstream_model);
    await call(`/deployments/${one?.id}`, 'PATCH', { priority: 5 });
    expect(await asked()).toBe(two?.upstream_model);
    const reply = await call(`/deployments/${two?.id}`, 'PATCH', { enabled: false });
    expect(reply.json).toMatchObject({ callable: false, not_callable_because: ['disabled'] });
    expect(await asked()).toBe(one?.upstream_model);
  });

  it('does not enable a model without a price or an adapter', async () => {
    expect((await call('/models/local/unpriced', 'PATCH', { enabled: true })).json.error.code).toBe('conflict');
    const [deployment] = await deploymentsOf('local/unspoken');
    const reply = await call(`/deployments/${deployment?.id}`, 'PATCH', { enabled: true });
    expect(reply.json.error.code).toBe('conflict');
    expect(await modelOf('local/unpriced')).toMatchObject({ decided_enabled: null });
  });

  it('serves a model without a price in the files once it has one and is enabled, at that price', async () => {
    const price = perMillion(3_000_000);
    const created = await call('/models/local/unpriced/prices', 'POST', { reference: 'our list', price });
    expect(created).toMatchObject({ status: 201, json: { source: 'operator', revision: 1, price } });
    expect((await call('/models/local/unpriced', 'PATCH', { enabled: true })).json).toMatchObject({ served: true });
    const reply = await stage.ask(customer, 'local/unpriced');
    expect(reply.headers.get('x-llm-cost-micro')).toBe(String(3 * ANSWER_MICRO));
    await importFiles();
    expect(await modelOf('local/unpriced')).toMatchObject({ served: true });
  });

  it('charges a new price in all processes and does not change earlier charges', async () => {
    const payer = await stage.gateway.customer();
    const costOn = async (gateway: TestGateway) =>
      (await stage.ask(payer, 'local/pair', {}, gateway)).headers.get('x-llm-cost-micro');
    expect(await costOn(replica)).toBe(String(ANSWER_MICRO));
    const [before] = await stage.gateway.rows<{ version: string; cost: string }>(
      `SELECT price_version_uuid AS version, charged_micro AS cost FROM usage_record WHERE organization_id = $1`,
      [payer.organizationId],
    );
    await call('/models/local/pair/prices', 'POST', { reference: 'our list', price: perMillion(2_000_000) });
    expect(await costOn(stage.gateway)).toBe(String(2 * ANSWER_MICRO));
    const startedAtMs = performance.now();
    await until('the other process charges it', async () => (await costOn(replica)) === String(2 * ANSWER_MICRO));
    process.stdout.write(`the other process charged it after ${(performance.now() - startedAtMs).toFixed(1)} ms\n`);
    const rows = await stage.gateway.rows(
      `SELECT price_version_uuid AS version, charged_micro AS cost FROM usage_record WHERE organization_id = $1`,
      [payer.organizationId],
    );
    expect(rows).toContainEqual(before);
    rewrite('local/pair', (model) => {
      model.prices.push({ ...model.prices[0], effective_from: new Date().toISOString(), ...perMillion(9_000_000) });
    });
    expect((await importFiles()).prices).toBe(1);
    await call('/models/local/pair', 'PATCH', {});
    expect(await costOn(stage.gateway)).toBe(String(2 * ANSWER_MICRO));
    expect(await stage.gateway.violations()).toEqual([]);
  });

  it('adds revisions of a future price and lists the history in pages', async () => {
    const effective_from = '2199-01-01T00:00:00.000Z';
    const add = (micro: number) =>
      call('/models/local/chat/prices', 'POST', { effective_from, reference: 'plan', price: perMillion(micro) });
    const replies = await Promise.all([1, 2, 3, 4].map(add));
    expect(replies.map(({ json }) => json.revision).toSorted()).toEqual([1, 2, 3, 4]);
    const first = (await call('/models/local/chat/prices?limit=3')).json;
    const second = (await call(`/models/local/chat/prices?limit=3&cursor=${first.next_cursor}`)).json;
    expect([...first.data, ...second.data].map(({ source }) => source)).toEqual([
      'operator',
      'operator',
      'operator',
      'operator',
      'file',
    ]);
    expect(second.next_cursor).toBeNull();
  });

  it('withdraws a future price, after which the catalogue files apply again', async () => {
    const effective_from = '2198-01-01T00:00:00.000Z';
    const add = (micro: number) =>
      call('/models/local/unspoken/prices', 'POST', {
        effective_from,
        reference: 'mistake',
        price: perMillion(micro),
      });
    const withdraw = (id: string) => call(`/models/local/unspoken/prices/${id}/withdraw`, 'POST');
    const mistake = (await add(1)).json;
    expect(await withdraw(mistake.id)).toMatchObject({
      status: 200,
      json: { revision: 2, price: null, source: 'operator', effective_from, effective_to: null },
    });
    expect((await withdraw(mistake.id)).json.error.code).toBe('conflict');
    rewrite('local/unspoken', (model) => {
      model.prices.push({ ...model.prices[0], effective_from, ...perMillion(7_000_000) });
    });
    expect((await importFiles()).prices).toBe(1);
    const replacement = (await add(2)).json;
    const restored = (await withdraw(replacement.id)).json;
    expect(restored).toMatchObject({ revision: 5, price: perMillion(7_000_000), source: 'file' });
    expect((await withdraw(restored.id)).json.error.code).toBe('conflict');
    expect((await importFiles()).prices).toBe(0);
    const entries = await stage.gateway.rows(
      `SELECT before->'price_version_id' AS before, after->'price_version_id' AS after FROM audit_entry
        WHERE action = 'price.withdrawn' ORDER BY id DESC LIMIT 1`,
    );
    expect(entries).toEqual([{ before: replacement.id, after: restored.id }]);
  });

  it.each([
    ['has begun', 0],
    ['begins within a minute', 50_000],
  ])('does not withdraw a price that %s: requests may use it', async (_name, inMs) => {
    const effective_from = inMs === 0 ? undefined : new Date(Date.now() + inMs).toISOString();
    const body = { effective_from, reference: 'our list', price: perMillion(3_000_000) };
    const { id } = (await call('/models/local/unspoken/prices', 'POST', body)).json;
    const reply = await call(`/models/local/unspoken/prices/${id}/withdraw`, 'POST');
    expect(reply).toMatchObject({ status: 409, json: { error: { code: 'conflict' } } });
    const [newest] = (await call('/models/local/unspoken/prices')).json.data;
    expect(newest).toMatchObject({ id, price: perMillion(3_000_000) });
  });

  const setPrice = async (model: string, micro: number) =>
    (await call(`/models/${model}/prices`, 'POST', { reference: 'campaign', price: perMillion(micro) })).json;
  const endPrice = (model: string, id: string, fields: object = {}) =>
    call(`/models/${model}/prices/${id}/end`, 'POST', { reference: 'campaign is over', ...fields });

  it('ends a price in force, after which all processes charge that of the files', async () => {
    const payer = await stage.gateway.customer();
    const costs = () =>
      Promise.all(
        [stage.gateway, replica].map(async (gateway) =>
          Number((await stage.ask(payer, 'local/campaign', {}, gateway)).headers.get('x-llm-cost-micro')),
        ),
      );
    const bothCost = (micro: number) => async () => (await costs()).every((cost) => cost === micro);
    const campaign = await setPrice('local/campaign', 5_000_000);
    await until('both processes charge the campaign', bothCost(5 * ANSWER_MICRO));
    const planned = (await endPrice('local/campaign', campaign.id, { effective_to: '2190-01-01' })).json;
    expect(planned).toMatchObject({ revision: 2, effective_to: '2190-01-02T00:00:00.000Z' });
    expect(await costs()).toEqual([5 * ANSWER_MICRO, 5 * ANSWER_MICRO]);
    const ended = await endPrice('local/campaign', planned.id);
    expect(ended).toMatchObject({
      status: 200,
      json: { revision: 3, price: perMillion(5_000_000), reference: 'campaign is over' },
    });
    await until('both processes charge the price of the files', bothCost(ANSWER_MICRO));
    const entries = await stage.gateway.rows<{ before: object; after: object }>(
      `SELECT before, after FROM audit_entry WHERE action = 'price.ended' AND request_id = $1`,
      [ended.headers.get('x-request-id')],
    );
    expect(entries).toMatchObject([
      { before: { price_version_id: planned.id }, after: { effective_to: ended.json.effective_to } },
    ]);
    const { data } = (await call('/models/local/campaign/prices')).json;
    const ofFiles = data.find(({ source }: { source: string }) => source === 'file');
    for (const { id } of [ended.json, planned, ofFiles]) {
      expect((await endPrice('local/campaign', id)).json.error.code).toBe('conflict');
    }
    expect(await stage.gateway.violations()).toEqual([]);
  });

  it('serves a model in no process after its only price has ended', async () => {
    const payer = await stage.gateway.customer();
    const statuses = () =>
      Promise.all(
        [stage.gateway, replica].map(async (gateway) => (await stage.ask(payer, 'local/unpriced', {}, gateway)).status),
      );
    await setPrice('local/unpriced', 5_000_000);
    await until('both processes serve it', async () => (await statuses()).every((status) => status === 200));
    const { data } = (await call('/models/local/unpriced/prices')).json;
    for (const { id } of data) expect((await endPrice('local/unpriced', id)).status).toBe(200);
    await until('no process serves it', async () => (await statuses()).every((status) => status === 404));
    expect(await modelOf('local/unpriced')).toMatchObject({ served: false });
  });

  it.each([
    ['in the past', { effective_to: '2026-01-01' }, 'effective_to'],
    ['at no time', { effective_to: 'soon' }, 'effective_to'],
    ['after its end', { effective_to: '2191-01-01' }, 'effective_to'],
    ['without a reason', { reference: '' }, 'reference'],
  ])('refuses to end a price %s', async (_name, fields, param) => {
    const body = { effective_to: '2190-06-01', reference: 'our list', price: perMillion(3_000_000) };
    const { id } = (await call('/models/local/unspoken/prices', 'POST', body)).json;
    const reply = await call(`/models/local/unspoken/prices/${id}/end`, 'POST', { reference: 'r', ...fields });
    expect(reply).toMatchObject({ status: 400, json: { error: { code: 'validation_failed', param } } });
  });

  it.each([
    ['began a second ago', { effective_from: new Date(Date.now() - 1_000).toISOString() }, 'effective_from'],
    ['begins at no time', { effective_from: 'tomorrow' }, 'effective_from'],
    ['begins in a far future', { effective_from: '+275760-09-13T00:00:00Z' }, 'effective_from'],
    ['ends before it begins', { effective_from: '2190-01-02', effective_to: '2190-01-01' }, 'effective_to'],
    [
      'costs half a unit',
      { price: { tokens: { per_1m_micro: { input: 0.5, output: 1 } } } },
      'price.tokens.per_1m_micro.input',
    ],
    ['costs by something unknown', { price: { words: 1 } }, 'price.words'],
    ['is a price of pictures', { price: { image: { rows: [{ per_image_micro: 1 }] } } }, 'price'],
    ['has a field too many', { currency: 'USD' }, 'currency'],
  ])('refuses a price that %s', async (_name, fields, param) => {
    const price = perMillion(1);
    const reply = await call('/models/local/chat/prices', 'POST', { reference: 'r', price, ...fields });
    expect(reply).toMatchObject({ status: 400, json: { error: { code: 'validation_failed', param } } });
  });

  it('returns 404 for unknown models and deployments', async () => {
    const body = { enabled: false };
    const [deployment] = await deploymentsOf('local/pair');
    const price = perMillion(1);
    const [ofAnother] = (await call('/models/local/pair/prices')).json.data;
    const replies = [
      await call(`/models/local/chat/prices/${ofAnother.id}/withdraw`, 'POST'),
      await call(`/models/local/pair/prices/${randomUUID()}/withdraw`, 'POST'),
      await call('/models/local/pair/prices/x/withdraw', 'POST'),
      await call(`/models/local/%00/prices/${ofAnother.id}/withdraw`, 'POST'),
      await call(`/models/local/chat/prices/${ofAnother.id}/end`, 'POST', { reference: 'r' }),
      await call('/models/local/none', 'PATCH', body),
      await call('/models/local/%00', 'PATCH', body),
      await call('/models/local/none/prices'),
      await call('/models/local/%00/prices'),
      await call('/models/local/none/prices', 'POST', { reference: 'r', price }),
      await call('/models/local/chat/prices', 'POST', { reference: 'r', price, deployment_id: deployment?.id }),
      await call(`/deployments/${randomUUID()}`, 'PATCH', body),
      await call('/deployments/x', 'PATCH', body),
      await call(`/deployments/${randomUUID()}/reset-breaker`, 'POST'),
    ];
    expect(replies.map(({ status, json }) => `${status} ${json.error.code}`)).toEqual(
      Array(replies.length).fill('404 not_found'),
    );
  });
});
