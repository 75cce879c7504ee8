import { randomUUID } from 'node:crypto';
import { Logger } from '@nestjs/common';
import { type Answer, FakeUpstream } from '../../../conformance/fake-upstream';
import type { CallReply, TestCustomer, TestGateway } from '../../../harness/gateway';
import { answers } from '../../routing/two-upstreams';
import { OPERATOR, OperatorStage, until } from './operator-stage';

const KEY = 'OPENAI_COMPATIBLE_API_KEY';
const URL_NAME = 'OPENAI_COMPATIBLE_BASE_URL';

describe('credentials of providers', () => {
  let stage: OperatorStage;
  let replica: TestGateway;
  let customer: TestCustomer;
  const logged: string[] = [];

  beforeAll(async () => {
    for (const level of ['log', 'warn', 'error', 'debug', 'verbose', 'fatal'] as const) {
      jest.spyOn(Logger.prototype, level).mockImplementation((...lines: unknown[]) => {
        logged.push(lines.map(toText).join(' '));
      });
    }
    stage = await OperatorStage.start();
    replica = await stage.startReplica();
    customer = await stage.gateway.customer();
  });
  afterEach(async () => {
    stage.upstream.answer = answers;
    for (const name of [KEY, URL_NAME, 'OPENAI_API_KEY']) await remove(name);
  });
  afterAll(async () => {
    await replica.stop();
    await stage.stop();
    jest.restoreAllMocks();
  });

  /** Repeats what a busy machine refuses; a provider that fails has another code. */
  const untilServed = async (call: () => Promise<CallReply>): Promise<CallReply> => {
    for (;;) {
      const reply = await call();
      if (reply.json?.error?.code !== 'service_unavailable') return reply;
    }
  };
  const put = (name: string, value: string): Promise<CallReply> =>
    untilServed(() => stage.operator.call(`${OPERATOR}/credentials/${name}`, { method: 'PUT', body: { value } }));
  const askUntilServed = (fields: object): Promise<CallReply> =>
    untilServed(() => stage.ask(customer, 'local/chat', fields));
  const remove = (name: string): Promise<CallReply> =>
    stage.operator.call(`${OPERATOR}/credentials/${name}`, { method: 'DELETE' });
  const list = async (): Promise<CallReply> => stage.operator.call(`${OPERATOR}/credentials`);
  const recordOf = async (name: string) =>
    (await list()).json.data.find((record: { name: string }) => record.name === name);
  /** The key that a process sends to the upstream. */
  const keySentBy = async (gateway: TestGateway): Promise<string | undefined> => {
    expect((await stage.ask(customer, 'local/chat', {}, gateway)).status).toBe(200);
    return stage.upstream.received.at(-1)?.headers.authorization;
  };

  it('override the environment in all processes until they are deleted', async () => {
    expect(await keySentBy(stage.gateway)).toBeUndefined();
    const { json } = await put(KEY, 'key-of-an-operator-1234');
    expect(json).toMatchObject({ name: KEY, source: 'stored', stored: { readable: true, last4: '1234' } });
    expect(await keySentBy(stage.gateway)).toBe('Bearer key-of-an-operator-1234');
    await until('the other process sends it', async () => (await keySentBy(replica)) !== undefined);
    expect((await remove(KEY)).status).toBe(204);
    expect(await recordOf(KEY)).toMatchObject({ source: null, stored: null });
    expect(await recordOf(URL_NAME)).toMatchObject({ source: 'environment', stored: null });
    expect(await keySentBy(stage.gateway)).toBeUndefined();
    await until('the other process has forgotten it', async () => (await keySentBy(replica)) === undefined);
  });

  it('change under traffic without a failed request; later requests use the new one', async () => {
    const waiting: (() => void)[] = [];
    const slow: Answer = (response, request) => {
      if (request.body.includes('"wait"')) waiting.push(() => answers(response, request));
      else setImmediate(() => answers(response, request));
    };
    stage.upstream.answer = slow;
    const over = new AbortController();
    const statuses: number[] = [];
    const traffic = Array.from({ length: 6 }, async (_, at) => {
      while (!over.signal.aborted) {
        const reply = await askUntilServed({ stream: at % 2 === 0 });
        statuses.push(reply.status);
        if (at % 2 === 0) expect(reply.events.at(-1)).toBe('[DONE]');
      }
    });
    const held = [true, false].map((stream) =>
      askUntilServed({ stream, messages: [{ role: 'user', content: 'wait' }] }),
    );
    await until('both are under way', () => waiting.length === held.length);
    for (let round = 0; round < 5; round++) {
      await put(KEY, `key-number-${round}`);
      const before = stage.upstream.received.length;
      const marker = randomUUID();
      await askUntilServed({ messages: [{ role: 'user', content: marker }] });
      const mine = stage.upstream.received.slice(before).find(({ body }) => body.includes(marker));
      expect(mine?.headers.authorization).toBe(`Bearer key-number-${round}`);
    }
    over.abort();
    await Promise.all(traffic);
    for (const answer of waiting) answer();
    expect((await Promise.all(held)).map(({ status }) => status)).toEqual([200, 200]);
    expect(new Set(statuses)).toEqual(new Set([200]));
    expect(statuses.length).toBeGreaterThan(20);
    expect(await stage.gateway.violations()).toEqual([]);
  });

  it('can move a provider to another URL, while calls in flight end at the old one', async () => {
    const other = await FakeUpstream.start();
    try {
      other.answer = answers;
      let finish = (): void => undefined;
      stage.upstream.answer = (response, request) => {
        finish = () => answers(response, request);
      };
      const count = stage.upstream.received.length;
      const held = stage.ask(customer, 'local/chat');
      await until('it is under way', () => stage.upstream.received.length > count);
      await put(URL_NAME, `${other.origin}/elsewhere/`);
      expect((await stage.ask(customer, 'local/chat')).status).toBe(200);
      expect(other.received.map(({ url }) => url)).toEqual(['/elsewhere/chat/completions']);
      finish();
      expect((await held).status).toBe(200);
    } finally {
      await remove(URL_NAME);
      await other.stop();
    }
  });

  it('enable the models of an unconfigured provider in all processes', async () => {
    const ask = (gateway: TestGateway) => stage.ask(customer, 'vendor/chat', {}, gateway);
    expect((await ask(stage.gateway)).json.error.code).toBe('model_not_found');
    await put('OPENAI_BASE_URL', `${stage.upstream.origin}/v1`);
    await put('OPENAI_API_KEY', 'sk-of-the-operator-000000');
    expect((await ask(stage.gateway)).status).toBe(200);
    await until('the other process serves it', async () => (await ask(replica)).status === 200);
    const late = await stage.startReplica();
    try {
      expect((await ask(late)).status).toBe(200);
    } finally {
      await late.stop();
    }
    await remove('OPENAI_API_KEY');
    await remove('OPENAI_BASE_URL');
    expect((await ask(stage.gateway)).json.error.code).toBe('model_not_found');
  });

  it('appear in no response, log line, audit entry, error or database row', async () => {
    const secret = `canary-${randomUUID()}`;
    const texts: string[] = [];
    texts.push((await put(KEY, secret)).text, (await list()).text);
    const { json } = await stage.operator.call(`${OPERATOR}/providers`);
    texts.push(JSON.stringify(json));
    stage.upstream.answer = (response, request) => {
      response.statusCode = 401;
      response.end(JSON.stringify({ error: { message: `wrong key ${request.headers.authorization}` } }));
    };
    texts.push((await stage.ask(customer, 'local/chat')).text);
    texts.push((await put(KEY, `${secret} with a space`)).text, (await put(KEY, `${secret}é`)).text);
    texts.push((await put(URL_NAME, `https://user:${secret}@host/v1`)).text, (await put(URL_NAME, secret)).text);
    texts.push((await put('HOME', secret)).text, (await put('%00', secret)).text);
    texts.push(
      (
        await stage.operator.call(`${OPERATOR}/credentials/${KEY}`, {
          method: 'PUT',
          body: { value: secret, more: secret },
        })
      ).text,
    );
    const rows = await stage.gateway.rows('SELECT * FROM audit_entry');
    const stored = await stage.gateway.rows<{ sealed: string }>('SELECT * FROM provider_credential');
    texts.push(JSON.stringify(rows), JSON.stringify(stored), ...logged);
    expect(stored).toHaveLength(1);
    expect(logged.some((line) => line.includes('provider settings changed'))).toBe(true);
    expect(texts.filter((text) => text.includes(secret))).toEqual([]);
  });

  it.each([
    ['with a space', KEY, 'two words', 'value'],
    ['that no header can carry', KEY, 'schlüssel', 'value'],
    ['that ends a header', KEY, 'key\r\nx-injected: 1', 'value'],
    ['of nothing', KEY, '', 'value'],
    ['that is no address', URL_NAME, 'localhost:8000', 'value'],
    ['with a password in the URL', URL_NAME, 'https://user:pass@host/v1', 'value'],
    ['with a query in the URL', URL_NAME, 'https://host/v1?key=1', 'value'],
    ['of another scheme', URL_NAME, 'file:///etc/passwd', 'value'],
  ])('are refused %s', async (_name, name, value, param) => {
    expect(await put(name, value)).toMatchObject({
      status: 400,
      json: { error: { code: 'validation_failed', param } },
    });
  });

  it('have only names that a provider uses', async () => {
    for (const name of ['HOME', 'MOCK_MEDIA_DIR', 'PUBLIC_BASE_URL', 'constructor', '%00']) {
      expect((await put(name, 'value')).json.error.code).toBe('not_found');
      expect((await remove(name)).json.error.code).toBe('not_found');
    }
    expect((await remove(KEY)).json.error.code).toBe('not_found');
  });

  it('cannot be moved to another name, so that a key never becomes the URL that keys are sent to', async () => {
    await put(KEY, 'https://thief.example/v1');
    await stage.gateway.rows('UPDATE provider_credential SET name = $1', [URL_NAME]);
    expect(await recordOf(URL_NAME)).toMatchObject({ source: 'environment', stored: { readable: false } });
    await put(KEY, 'key-that-is-sent-1234567');
    expect(await keySentBy(stage.gateway)).toBe('Bearer key-that-is-sent-1234567');
  });

  it('that cannot be decrypted do not prevent the start: it is logged, and the environment applies', async () => {
    await put(KEY, 'key-of-an-operator-1234');
    logged.length = 0;
    const other = await stage.startReplica({ SECRETS_KEY: 'cd'.repeat(32) });
    try {
      expect(await keySentBy(other)).toBeUndefined();
      expect(logged.filter((line) => line.includes('cannot be decrypted with SECRETS_KEY'))).toHaveLength(1);
      const { json } = await other.call(`${OPERATOR}/credentials`, { headers: { cookie: stage.operator.cookie } });
      const record = json.data.find(({ name }: { name: string }) => name === KEY);
      expect(record).toMatchObject({ source: null, stored: { readable: false } });
    } finally {
      await other.stop();
    }
  });
});

function toText(line: unknown): string {
  if (line instanceof Error) return `${line.stack} ${String(line.cause)}`;
  return typeof line === 'string'
    ? line
    : JSON.stringify(line, (_key, value: unknown) => (value instanceof Error ? toText(value) : value));
}
