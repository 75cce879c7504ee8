import { Logger } from '@nestjs/common';
import type { Answer } from '../../../conformance/fake-upstream';
import type { CallReply, TestCustomer, TestGateway } from '../../../harness/gateway';
import { answers } from '../../routing/two-upstreams';
import { OPERATOR, OperatorStage, until } from './operator-stage';

const INSTANCES = `${OPERATOR}/provider-instances`;
const KEYS = ['sk-instance-key-number-one-1111', 'sk-instance-key-number-two-2222'] as const;

describe('named provider instances', () => {
  let stage: OperatorStage;
  let replica: TestGateway;
  let customer: TestCustomer;
  const logged: string[] = [];

  beforeAll(async () => {
    for (const level of ['log', 'warn', 'error', 'debug', 'verbose', 'fatal'] as const) {
      jest.spyOn(Logger.prototype, level).mockImplementation((...lines: unknown[]) => {
        logged.push(JSON.stringify(lines));
      });
    }
    stage = await OperatorStage.start({}, [
      ['team/chat', 'team'],
      ['file/chat', 'from-file'],
    ]);
    replica = await stage.startReplica();
    customer = await stage.gateway.customer();
  });
  afterEach(async () => {
    stage.upstream.answer = answers;
    await remove('team');
  });
  afterAll(async () => {
    await replica.stop();
    await stage.stop();
    jest.restoreAllMocks();
  });

  const put = (id: string, body: object): Promise<CallReply> =>
    stage.operator.call(`${INSTANCES}/${id}`, { method: 'PUT', body });
  const remove = (id: string): Promise<CallReply> => stage.operator.call(`${INSTANCES}/${id}`, { method: 'DELETE' });
  const team = (keys: readonly object[]): object => ({
    module: 'openai',
    base_url: `${stage.upstream.origin}/team/v1`,
    api_keys: keys,
  });
  const ask = (gateway = stage.gateway, model = 'team/chat') => stage.ask(customer, model, {}, gateway);

  it('serve their deployments in every process until they are deleted', async () => {
    expect((await ask()).json.error.code).toBe('model_not_found');
    const { status, json } = await put('team', team([{ key: KEYS[0], weight: 2 }]));
    expect(status).toBe(200);
    expect(json).toMatchObject({
      id: 'team',
      source: 'stored',
      settings: { module: 'openai', api_keys: [{ last4: '1111', weight: 2 }] },
    });
    expect((await ask()).status).toBe(200);
    expect(stage.upstream.received.at(-1)).toMatchObject({
      url: '/team/v1/chat/completions',
      headers: { authorization: `Bearer ${KEYS[0]}` },
    });
    await until('the other process serves it', async () => (await ask(replica)).status === 200);
    expect((await remove('team')).status).toBe(204);
    expect((await ask()).json.error.code).toBe('model_not_found');
    await until('the other process no longer serves it', async () => (await ask(replica)).status === 404);
    expect((await remove('team')).json.error.code).toBe('not_found');
  });

  it('keep serving when the upstream refuses one of several keys', async () => {
    await put('team', team(KEYS.map((key) => ({ key }))));
    const refusing: Answer = (response, request) => {
      if (request.headers.authorization !== `Bearer ${KEYS[0]}`) return answers(response, request);
      response.writeHead(401, { 'content-type': 'application/json' }).end('{"error":{"code":"invalid_api_key"}}');
    };
    stage.upstream.answer = refusing;
    const before = stage.upstream.received.length;
    for (let call = 0; call < 12; call++) expect((await ask()).status).toBe(200);
    const sent = stage.upstream.received.slice(before).map(({ headers }) => headers.authorization);
    expect(sent.filter((key) => key === `Bearer ${KEYS[0]}`)).toHaveLength(1);
    expect(await stage.gateway.violations()).toEqual([]);
  });

  it('keep a stored key that an update names by its id', async () => {
    const { json } = await put('team', team([{ key: KEYS[0] }]));
    const [{ id }] = json.settings.api_keys;
    const updated = await put('team', team([{ id, weight: 5 }, { key: KEYS[1] }]));
    expect(updated.json.settings.api_keys).toMatchObject([
      { id, last4: '1111', weight: 5 },
      { last4: '2222', weight: 1 },
    ]);
  });

  it('keep a key that another operator stored since the list was read', async () => {
    const listed = await put('team', team([{ key: KEYS[0] }]));
    const [{ id }] = listed.json.settings.api_keys;
    await put('team', team([{ id }, { key: KEYS[1] }]));
    const stale = { ...team([{ id, weight: 7 }]), expected_updated_at: listed.json.updated_at };
    const { status, json } = await put('team', stale);
    expect([status, json.error.code]).toEqual([409, 'conflict']);
    const [stored] = (await stage.operator.call(INSTANCES)).json.data.filter(
      (each: { id: string }) => each.id === 'team',
    );
    expect(stored.settings.api_keys).toMatchObject([{ last4: '1111', weight: 1 }, { last4: '2222' }]);
    const fresh = await put('team', { ...stale, expected_updated_at: stored.updated_at });
    expect(fresh.json.settings.api_keys).toMatchObject([{ last4: '1111', weight: 7 }]);
  });

  it('that two operators create at the same time under one name are created once', async () => {
    const created = await Promise.all(
      KEYS.map((key) => put('team', { ...team([{ key }]), expected_updated_at: null })),
    );
    expect(created.map(({ status }) => status).toSorted()).toEqual([200, 409]);
  });

  it.each<[string, string, object, string]>([
    ['an unknown module', 'team', { module: 'nothing', api_keys: [] }, 'module'],
    ['the id of a module', 'openai', { module: 'openai', api_keys: [{ key: 'a' }] }, 'id'],
    ['the id of an instance of the file', 'from-file', { module: 'openai', api_keys: [{ key: 'a' }] }, 'id'],
    ['an id with other characters', 'Team_1', { module: 'openai', api_keys: [{ key: 'a' }] }, 'id'],
    ['a module without its key', 'team', { module: 'openai', api_keys: [] }, 'api_keys'],
    [
      'a base URL of another kind',
      'team',
      { module: 'openai', base_url: 'ftp://x', api_keys: [{ key: 'a' }] },
      'base_url',
    ],
    ['a key that is not stored', 'team', { module: 'openai', api_keys: [{ id: 'none' }] }, 'api_keys[0].id'],
    ['a key with spaces', 'team', { module: 'openai', api_keys: [{ key: 'a b' }] }, 'api_keys[0].key'],
    ['a weight out of range', 'team', { module: 'openai', api_keys: [{ key: 'a', weight: 0 }] }, 'api_keys[0].weight'],
    ['a key twice', 'team', { module: 'openai', api_keys: [{ key: 'a' }, { key: 'a' }] }, 'api_keys'],
  ])('refuse %s', async (_what, id, body, param) => {
    const { status, json } = await put(id, body);
    expect([status, json.error.code, json.error.param]).toEqual([400, 'validation_failed', param]);
  });

  it('of the file are listed, served and cannot be changed', async () => {
    expect((await ask(stage.gateway, 'file/chat')).status).toBe(200);
    expect(stage.upstream.received.at(-1)?.url).toBe('/file/v1/chat/completions');
    const { json } = await stage.operator.call(INSTANCES);
    expect(json.data).toMatchObject([{ id: 'from-file', source: 'file', updated_at: null }]);
    expect((await remove('from-file')).json.error.code).toBe('not_found');
  });

  it('show no key in responses, logs, the audit log or the database', async () => {
    const { text } = await put('team', team([{ key: KEYS[0] }, { key: KEYS[1] }]));
    const rows = await stage.gateway.rows('SELECT * FROM provider_instance');
    const audit = await stage.gateway.rows("SELECT * FROM audit_entry WHERE action LIKE 'provider_instance.%'");
    expect(audit).not.toEqual([]);
    const everything = [text, JSON.stringify(rows), JSON.stringify(audit), ...logged].join('\n');
    for (const key of KEYS) expect(everything).not.toContain(key);
  });

  it('cannot be moved to another id, so that keys never go to the address of another instance', async () => {
    await put('team', team([{ key: KEYS[0] }]));
    await stage.gateway.rows("UPDATE provider_instance SET id = 'moved'");
    const { json } = await stage.operator.call(INSTANCES);
    expect(json.data.at(-1)).toMatchObject({ id: 'moved', settings: null });
    expect((await remove('moved')).status).toBe(204);
  });
});
