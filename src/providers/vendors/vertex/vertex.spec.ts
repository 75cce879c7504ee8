import { createVerify, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { type Answer, FakeUpstream } from '../../../../test/conformance/fake-upstream';
import { chatRequest, providerCall, providerErrorOf } from '../../../../test/conformance/provider-call';
import { videoSpec } from '../../../../test/conformance/job-requests';
import type { AsyncJobAdapter } from '../../contract/media-job';
import type { Provider } from '../../contract/provider';
import { VertexProvider } from './vertex.module';

const PROJECT = '/v1/projects/p/locations/global';
let privateKey: string;
let publicKey: KeyObject;
let upstream: FakeUpstream;
let tokenEndpoint: FakeUpstream;
let provider: Provider | null;

const json = (document: object, status = 200): Answer => {
  return (response) => response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(document));
};
const keyFile = (overrides: object = {}) =>
  Buffer.from(
    JSON.stringify({
      type: 'service_account',
      client_email: 'gateway@p.iam.gserviceaccount.com',
      private_key: privateKey,
      token_uri: `${tokenEndpoint.origin}/token`,
      ...overrides,
    }),
  ).toString('base64');
const create = (apiKey: string) =>
  new VertexProvider().create({ VERTEX_API_KEY: apiKey, VERTEX_BASE_URL: `${upstream.origin}${PROJECT}` });
const complete = () => provider?.chat?.complete(chatRequest(), providerCall()) ?? Promise.reject(new Error('no chat'));
/** Tokens `token-1`, `token-2` and so on. */
const issueTokens = (lifetimeSeconds: number) => {
  tokenEndpoint.answer = (response, request) =>
    json({ access_token: `token-${tokenEndpoint.received.length}`, expires_in: lifetimeSeconds })(response, request);
};
const credentials = () => upstream.received.map(({ headers }) => headers.authorization);

beforeAll(() => {
  const pair = generateKeyPairSync('rsa', { modulusLength: 2048 });
  privateKey = pair.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  publicKey = pair.publicKey;
});
beforeEach(async () => {
  upstream = await FakeUpstream.start();
  tokenEndpoint = await FakeUpstream.start();
  upstream.answer = json({
    candidates: [{ content: { role: 'model', parts: [{ text: 'Hi' }] }, finishReason: 'STOP' }],
  });
  issueTokens(3_600);
  provider = create(keyFile());
});
afterEach(async () => {
  await provider?.close();
  await upstream.stop();
  await tokenEndpoint.stop();
});

describe('VertexProvider', () => {
  it('exists only with a key and a base URL', () => {
    expect(new VertexProvider().create({ VERTEX_API_KEY: keyFile() })).toBeNull();
    expect(new VertexProvider().create({ VERTEX_BASE_URL: 'https://host/v1' })).toBeNull();
  });

  it.each([
    { private_key: 'secret-text' },
    { private_key: undefined },
    { client_email: undefined },
    { type: 'authorized_user' },
    { token_uri: 'nowhere' },
  ])('refuses a key file with %j, naming the variable and not the value', (overrides) => {
    expect(() => create(keyFile(overrides))).toThrow(/^(?!.*secret-text).*VERTEX_API_KEY/);
  });

  it('refuses a damaged key file instead of sending it as an API key', () => {
    expect(() => create(keyFile().slice(4))).toThrow('VERTEX_API_KEY');
  });

  it('calls the model below the base URL with a token of the service account', async () => {
    await complete();
    const call = providerCall();
    await providerErrorOf(provider?.chat?.openStream(chatRequest({ stream: true }), call) ?? Promise.resolve());
    const models = `${PROJECT}/publishers/google/models/upstream-model`;
    expect(upstream.received.map(({ url }) => url)).toEqual([
      `${models}:generateContent`,
      `${models}:streamGenerateContent?alt=sse`,
    ]);
    expect(credentials()).toEqual(['Bearer token-1', 'Bearer token-1']);
    for (const { headers } of upstream.received) expect(headers).not.toHaveProperty('x-goog-api-key');
  });

  it('requests the token with an assertion that the account’s key has signed', async () => {
    await complete();
    const [request] = tokenEndpoint.received;
    expect([request?.url, request?.headers['content-type']]).toEqual(['/token', 'application/x-www-form-urlencoded']);
    const form = new URLSearchParams(request?.body);
    expect(form.get('grant_type')).toBe('urn:ietf:params:oauth:grant-type:jwt-bearer');
    const [header = '', payload = '', signature = ''] = (form.get('assertion') ?? '').split('.');
    const verify = createVerify('RSA-SHA256').update(`${header}.${payload}`);
    expect(verify.verify(publicKey, signature, 'base64url')).toBe(true);
    expect(JSON.parse(Buffer.from(payload, 'base64url').toString())).toMatchObject({
      iss: 'gateway@p.iam.gserviceaccount.com',
      scope: 'https://www.googleapis.com/auth/cloud-platform',
      aud: `${tokenEndpoint.origin}/token`,
    });
  });

  it('requests one token for concurrent calls', async () => {
    await Promise.all([complete(), complete(), complete()]);
    expect(tokenEndpoint.received).toHaveLength(1);
    expect(credentials()).toEqual(['Bearer token-1', 'Bearer token-1', 'Bearer token-1']);
  });

  it('renews a token that expires within five minutes', async () => {
    issueTokens(299);
    await complete();
    await complete();
    expect(credentials()).toEqual(['Bearer token-1', 'Bearer token-2']);
  });

  it.each([
    [400, { error: 'invalid_grant', error_description: 'Invalid JWT Signature.' }],
    [401, { error: 'unauthorized_client' }],
    [403, { error: 'access_denied' }],
  ])('reports a refused credential, without the key, when the token endpoint answers %i', async (status, document) => {
    tokenEndpoint.answer = json(document, status);
    const error = await providerErrorOf(complete());
    expect(error.code).toBe('provider_error');
    expect(error.options).toMatchObject({ phase: 'connect', credentialRefused: true });
    expect(JSON.stringify([error.message, error.stack, error.options])).not.toMatch(/PRIVATE KEY|assertion|gateway@/);
    expect([tokenEndpoint.received.length, upstream.received.length]).toEqual([1, 0]);
  });

  it.each([
    ['provider_unavailable', json({}, 503)],
    ['provider_rate_limited', json({}, 429)],
    ['provider_error', json({ expires_in: 3_600 })],
    ['provider_error', json({ access_token: 'two\r\nlines', expires_in: 3_600 })],
  ])('ends with %s before the call is sent, and gets a token the next time', async (code, answer) => {
    tokenEndpoint.answer = answer;
    const error = await providerErrorOf(complete());
    expect([error.code, error.options.phase, error.options.credentialRefused]).toEqual([code, 'connect', undefined]);
    issueTokens(3_600);
    await complete();
    expect(credentials()).toEqual(['Bearer token-2']);
  });

  it('requests no token for a request that it refuses', async () => {
    const failure = provider?.chat?.complete(chatRequest({ logit_bias: { 5: 1 } }), providerCall());
    expect((await providerErrorOf(failure ?? Promise.resolve())).code).toBe('validation_failed');
    expect(tokenEndpoint.connections).toBe(0);
  });

  it('submits a video and asks about it with the token of the service account', async () => {
    upstream.answer = json({ name: 'projects/p/operations/1' });
    const video = provider?.video as AsyncJobAdapter;
    const handle = await video.submit(videoSpec({ durationSeconds: 8 }), 'token', providerCall());
    await video.poll(handle, providerCall());
    const models = `${PROJECT}/publishers/google/models/upstream-model`;
    expect(upstream.received.map(({ url }) => url)).toEqual([
      `${models}:predictLongRunning`,
      `${models}:fetchPredictOperation`,
    ]);
    expect(credentials()).toEqual(['Bearer token-1', 'Bearer token-1']);
  });

  it('knows that a video without a token was not submitted', async () => {
    tokenEndpoint.answer = json({}, 503);
    const video = provider?.video as AsyncJobAdapter;
    const { options } = await providerErrorOf(video.submit(videoSpec(), 'token', providerCall()));
    expect([options.phase, upstream.received.length]).toEqual(['connect', 0]);
  });

  it('sends an API key of express mode in a header and requests no token', async () => {
    await provider?.close();
    provider = create('AQ.express-key');
    await complete();
    expect(upstream.received[0]?.headers).toMatchObject({ 'x-goog-api-key': 'AQ.express-key' });
    expect(credentials()).toEqual([undefined]);
    expect(tokenEndpoint.connections).toBe(0);
  });
});
