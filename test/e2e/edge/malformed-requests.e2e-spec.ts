import { TestGateway, type TestCustomer } from '../../harness/gateway';
import { exchange } from '../../harness/raw-http';

/**
 * Malformed input of every kind: each gets a 4xx from the error table in the envelope with a request id, without a
 * charge.
 */
const PATH = '/v1/chat/completions';
const MESSAGES = [{ role: 'user', content: 'hi' }];
const GOOD = { model: 'mock/chat-1', messages: MESSAGES };

let gateway: TestGateway;
let customer: TestCustomer;
let port: number;

beforeAll(async () => {
  gateway = await TestGateway.start();
  customer = await gateway.customer();
  port = Number(new URL(gateway.url).port);
});
afterAll(async () => {
  await gateway.stop();
});

const bytes = (...parts: (string | number[])[]): Uint8Array =>
  Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : Buffer.from(part))));

describe('bodies that are not JSON', () => {
  it.each<[string, string | Uint8Array]>([
    ['an empty body', ' '],
    ['text', 'hello'],
    ['an open brace', '{'],
    ['an open string', '{"model":"mock/chat-1'],
    ['a trailing comma', '{"model":"mock/chat-1",}'],
    ['single quotes', "{'model':'x'}"],
    ['a comment', '{/* hi */}'],
    ['two documents', '{}{}'],
    ['NaN', '{"temperature":NaN}'],
    ['Infinity', '{"temperature":Infinity}'],
    ['a leading zero', '{"seed":01}'],
    ['hexadecimal', '{"seed":0x1}'],
    ['a plus sign', '{"seed":+1}'],
    ['a bare control character', '{"model":"a\u0001"}'],
    ['a byte order mark', '\ufeff{}'],
    ['a truncated escape', '{"model":"\\u12"}'],
    ['an unknown escape', '{"model":"\\x41"}'],
    ['invalid UTF-8', bytes('{"model":"', [0xff, 0xfe], '"}')],
    ['an overlong encoding', bytes('{"model":"', [0xc0, 0xaf], '"}')],
    ['a surrogate in UTF-8', bytes('{"model":"', [0xed, 0xa0, 0x80], '"}')],
    ['half a character', bytes('{"model":"', [0xe2, 0x82], '"}')],
    ['UTF-16', Buffer.from('{"model":"a"}', 'utf16le')],
    ['binary', bytes([0, 1, 2, 3, 4, 5])],
  ])('%s', async (_case, body) => {
    const reply = await gateway.call(PATH, { key: customer.key, body });
    expect([reply.status, reply.json.error.code]).toEqual([400, 'invalid_json']);
  });
});

describe('JSON that does not describe a request', () => {
  const repeated = (name: string): string =>
    `{"model":"mock/chat-1",${name},${name},"messages":[{"role":"user","content":"x"}]}`;
  it.each<[string, unknown, string | undefined]>([
    ['null', 'null', undefined],
    ['a number', '7', undefined],
    ['a string', '"text"', undefined],
    ['a list', '[]', undefined],
    ['true', 'true', undefined],
    ['an empty object', '{}', 'model'],
    ['deep nesting', `{"x":${'['.repeat(100_000)}${']'.repeat(100_000)}}`, undefined],
    ['deep objects', `${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}`, undefined],
    ['too many names', `{${Array.from({ length: 600_000 }, (_, index) => `"${index}":0`).join(',')}}`, undefined],
    ['too many values', `{"x":[${'0,'.repeat(4_000_000)}0]}`, undefined],
    ['a repeated name', repeated('"seed":1'), 'seed'],
    ['1e400', '{"model":"mock/chat-1","temperature":1e400}', 'temperature'],
    ['-1e999', '{"model":"mock/chat-1","logit_bias":{"5":-1e999}}', 'logit_bias.5'],
    [
      'a NUL character',
      '{"model":"mock/chat-1","messages":[{"role":"user","content":"a\\u0000b"}]}',
      'messages[0].content',
    ],
    [
      'a lone surrogate',
      '{"model":"mock/chat-1","messages":[{"role":"user","content":"\\udc00"}]}',
      'messages[0].content',
    ],
    ['a NUL in a name', '{"model":"mock/chat-1","metadata":{"\\u0000":"x"}}', 'metadata'],
  ])('%s', async (_case, body, param) => {
    const reply = await gateway.call(PATH, { key: customer.key, body });
    expect([reply.status, reply.json.error.code]).toEqual([400, 'validation_failed']);
    expect(reply.json.error.param).toBe(param);
  });

  const field = (name: string, value: unknown): [string, object, string] => [
    `${name} = ${JSON.stringify(value)}`,
    { [name]: value },
    name,
  ];
  const message = (value: unknown, param: string): [string, object, string] => [
    `a message ${JSON.stringify(value)}`,
    { messages: [value] },
    param,
  ];
  it.each([
    field('model', null),
    field('model', ''),
    field('model', ['mock/chat-1']),
    field('model', { id: 'mock/chat-1' }),
    field('messages', null),
    field('messages', {}),
    field('messages', 'text'),
    field('stream', 'true'),
    field('stream', 1),
    field('temperature', '1'),
    field('temperature', -0.1),
    field('temperature', 3),
    field('top_p', 1.5),
    field('top_p', -1),
    field('presence_penalty', 2.5),
    field('frequency_penalty', -2.5),
    field('max_tokens', -1),
    field('max_tokens', 1.5),
    field('max_tokens', '100'),
    field('max_completion_tokens', 0),
    field('n', 0),
    field('n', 1.5),
    field('n', 100),
    field('seed', 'x'),
    field('seed', 0.5),
    field('stop', 7),
    field('stop', {}),
    field('logprobs', 'yes'),
    field('top_logprobs', 21),
    field('top_logprobs', -1),
    field('logit_bias', []),
    field('logit_bias', 'x'),
    field('tools', {}),
    field('tools', 'all'),
    field('tool_choice', 5),
    field('parallel_tool_calls', 'no'),
    field('response_format', 'json'),
    field('user', 5),
    field('routing', 'fast'),
    field('routing', []),
    field('metadata', 'x'),
    message(null, 'messages[0]'),
    message('hi', 'messages[0]'),
    message([], 'messages[0]'),
    message({}, 'messages[0].role'),
    message({ role: 7, content: 'x' }, 'messages[0].role'),
    message({ role: 'user', content: null }, 'messages[0].content'),
    message({ role: 'user', content: 7 }, 'messages[0].content'),
    message({ role: 'user', content: [7] }, 'messages[0].content[0]'),
    message({ role: 'user', content: [{}] }, 'messages[0].content[0].type'),
    message({ role: 'user', content: [{ type: 'text' }] }, 'messages[0].content[0].text'),
    message({ role: 'user', content: [{ type: 'hologram' }] }, 'messages[0].content[0].type'),
    message({ role: 'tool', content: 'x' }, 'messages[0].tool_call_id'),
    message({ role: 'assistant', content: 'x', tool_calls: 'y' }, 'messages[0].tool_calls'),
    message({ role: 'assistant', tool_calls: [{ id: 'a', type: 'function' }] }, 'messages[0].tool_calls[0].function'),
  ])('%s', async (_case, change, param) => {
    const reply = await gateway.call(PATH, { key: customer.key, body: { ...GOOD, ...change } });
    expect([reply.status, reply.json.error.code, reply.json.error.param]).toEqual([400, 'validation_failed', param]);
  });
});

describe('content types', () => {
  it.each([
    'text/plain',
    'text/plain; charset=utf-8',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/xml',
    'application/octet-stream',
    'application/jsonp',
    'application/json-seq',
    'text/json',
    'json',
    'application',
    'application/json, text/plain',
  ])('%s is not accepted', async (type) => {
    const reply = await gateway.call(PATH, {
      key: customer.key,
      body: JSON.stringify(GOOD),
      headers: { 'content-type': type },
    });
    expect([reply.status, reply.json.error.code]).toEqual([415, 'unsupported_media_type']);
  });

  it.each([
    'application/json',
    'application/json; charset=utf-8',
    'Application/JSON',
    'application/json;charset=UTF-8',
  ])('%s is accepted', async (type) => {
    const reply = await gateway.call(PATH, {
      key: customer.key,
      body: JSON.stringify({}),
      headers: { 'content-type': type },
    });
    expect(reply.json.error.param).toBe('model');
  });
});

describe('sizes', () => {
  it('refuses a body above the limit', async () => {
    const body = JSON.stringify({ ...GOOD, user: 'x'.repeat(10 * 1024 * 1024) });
    const reply = await gateway.call(PATH, { key: customer.key, body });
    expect([reply.status, reply.json.error.code]).toEqual([413, 'request_too_large']);
  });

  it('refuses a Content-Length above the limit without waiting for the body', async () => {
    const head = `POST ${PATH} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${customer.key}\r\nContent-Type: application/json\r\n`;
    const reply = await exchange(port, `${head}Content-Length: 99999999\r\n\r\n{`);
    expect(reply.status).toBe(413);
    expect(JSON.parse(reply.body).error.code).toBe('request_too_large');
  });
});

describe('paths and methods', () => {
  it.each([
    ['GET', '/'],
    ['GET', '/v1'],
    ['GET', '/v1/nothing'],
    ['POST', '/v1/chat/completion'],
    ['GET', PATH],
    ['PUT', PATH],
    ['DELETE', PATH],
    ['PATCH', PATH],
    ['OPTIONS', PATH],
    ['POST', '/health'],
    ['GET', '/v1/%zz'],
    ['GET', `/v1/jobs/${'a'.repeat(513)}`],
    ['GET', '/v1/../etc/passwd'],
    ['GET', '/favicon.ico'],
  ])('%s %s returns 404', async (method, path) => {
    const reply = await gateway.call(path, { method, key: customer.key });
    expect([reply.status, reply.json.error.code]).toEqual([404, 'not_found']);
  });
});

describe('bytes that are not a request', () => {
  const head = (line: string, ...more: string[]): string => `${[line, 'Host: x', ...more].join('\r\n')}\r\n\r\n`;
  it.each<[string, string]>([
    ['no HTTP at all', 'hello there\r\n\r\n'],
    ['TLS', '\u0016\u0003\u0001\u0002\u0000\u0001\u0000\r\n\r\n'],
    ['an unknown method', head('FROB / HTTP/1.1')],
    ['an HTTP version that does not exist', head('GET / HTTP/9.9')],
    ['two lengths', head(`POST ${PATH} HTTP/1.1`, 'Content-Length: 2', 'Content-Length: 3')],
    ['length and chunked', head(`POST ${PATH} HTTP/1.1`, 'Content-Length: 2', 'Transfer-Encoding: chunked')],
    ['a negative length', head(`POST ${PATH} HTTP/1.1`, 'Content-Length: -2')],
    ['a header without a colon', head('GET /health HTTP/1.1', 'Broken')],
    ['a header name with a space', head('GET /health HTTP/1.1', 'Bro ken: x')],
    ['headers of 64 KiB', head('GET /health HTTP/1.1', `X-Big: ${'a'.repeat(65_536)}`)],
    ['a broken chunk', `POST ${PATH} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n`],
    ['two hosts', head('GET /health HTTP/1.1', 'Host: y')],
    ['a proxy request', head('CONNECT example.com:443 HTTP/1.1')],
  ])('%s gets a 4xx envelope', async (_case, sent) => {
    const reply = await exchange(port, sent);
    expect(reply.status).toBeGreaterThanOrEqual(400);
    expect(reply.status).toBeLessThan(500);
    const { error } = JSON.parse(reply.body);
    expect(error.request_id).toMatch(/^req_[0-9a-f]{32}$/);
    expect(reply.headers.toLowerCase()).toContain(`x-request-id: ${error.request_id}`);
  });

  it.each([
    ['an absolute URL as target', head('GET http://evil.example/health HTTP/1.1'), 200],
    ['a Host that looks like a URL with a path', 'GET /v1/models HTTP/1.1\r\nHost: a/#@b\r\n\r\n', 400],
  ])('%s does not affect authentication', async (_case, sent, status) => {
    const reply = await exchange(port, sent);
    expect(reply.status).toBe(status);
    expect(reply.body).not.toContain('"object":"list"');
  });
});

it('charges and holds nothing for any of these requests', async () => {
  const [account] = await gateway.rows(
    'SELECT balance_micro, reserved_micro FROM organization_account WHERE organization_id = $1',
    [customer.organizationId],
  );
  expect(account).toEqual({ balance_micro: '10000000', reserved_micro: '0' });
  expect(await gateway.rows('SELECT 1 FROM usage_record')).toEqual([]);
});
