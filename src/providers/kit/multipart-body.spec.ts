import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { FakeUpstream } from '../../../test/conformance/fake-upstream';
import { formOf } from '../../../test/conformance/media-answers';
import { providerCall, providerErrorOf } from '../../../test/conformance/provider-call';
import { type FormPart, MultipartBody } from './multipart-body';
import { UpstreamHttp } from './upstream-http';

const MEBIBYTE = 1024 * 1024;
const file = (bytes: Buffer): FormPart => ({ name: 'file', fileName: 'a.wav', contentType: 'audio/wav', bytes });

interface Impatient {
  readonly http: UpstreamHttp;
  onRequest(): void;
  stop(): Promise<void>;
}

/** A server that responds as soon as it sees a request, without reading the body. */
async function impatient(reply: string): Promise<Impatient> {
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket);
    socket.on('error', () => undefined);
    socket.once('data', () => {
      socket.pause();
      socket.write(reply);
      impatient.onRequest();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const http = new UpstreamHttp({ baseUrl: new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`) });
  const impatient: Impatient = {
    http,
    onRequest: () => undefined,
    stop: async () => {
      await http.close();
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
  return impatient;
}

describe('UpstreamHttp with a form', () => {
  let upstream: FakeUpstream;
  let http: UpstreamHttp;

  beforeEach(async () => {
    upstream = await FakeUpstream.start();
    http = new UpstreamHttp({ baseUrl: new URL(upstream.origin), headers: { authorization: 'Bearer key' } });
  });

  afterEach(async () => {
    await http.close();
    await upstream.stop();
  });

  it('sends fields and files unchanged, with their length and the credential', async () => {
    const bytes = Buffer.from([0, 255, 13, 10, 45, 45]);
    const value = 'ü "quoted"\r\n--gateway--\r\n';
    await http.post(
      '/form',
      new MultipartBody([{ name: 'text', value }, file(bytes), file(Buffer.alloc(0))]),
      providerCall(),
    );
    const [request] = upstream.received;
    expect(request?.headers).toMatchObject({
      authorization: 'Bearer key',
      'content-length': String(request?.bytes.length),
      'content-type': expect.stringMatching(/^multipart\/form-data; boundary=/),
    });
    expect(request?.headers['transfer-encoding']).toBeUndefined();
    const form = await formOf(request);
    const files = form.getAll('file') as File[];
    expect(form.get('text')).toBe(value);
    expect(files.map(({ name, type, size }) => [name, type, size])).toEqual([
      ['a.wav', 'audio/wav', 6],
      ['a.wav', 'audio/wav', 0],
    ]);
    expect(Buffer.from(await (files[0] as File).arrayBuffer())).toEqual(bytes);
  });

  it('uses a new boundary for every form', () => {
    const types = Array.from({ length: 100 }, () => new MultipartBody([]).contentType);
    expect(new Set(types).size).toBe(100);
  });

  it('sends the bytes of a file without copying them', async () => {
    const bytes = Buffer.alloc(20 * MEBIBYTE, 7);
    const body = new MultipartBody([{ name: 'model', value: 'x' }, file(bytes)]);
    expect(await body.toStream().toArray()).toContain(bytes);
    await http.post('/form', body, providerCall());
    expect(upstream.received[0]?.bytes.length).toBe(body.byteLength);
  });

  it('can be sent again, for the next attempt', async () => {
    const body = new MultipartBody([file(Buffer.from('sound'))]);
    await http.post('/form', body, providerCall());
    await http.post('/form', body, providerCall({ attempt: 2 }));
    expect(upstream.received.map(({ bytes }) => bytes.includes('sound'))).toEqual([true, true]);
  });

  it('receives a refusal that arrives before the file has been read', async () => {
    const refusal = '{"error":{"type":"invalid_request_error","message":"too large"}}';
    const reply = `HTTP/1.1 413 Payload Too Large\r\ncontent-type: application/json\r\ncontent-length: ${refusal.length}\r\n\r\n${refusal}`;
    const server = await impatient(reply);
    const body = new MultipartBody([file(Buffer.alloc(64 * MEBIBYTE))]);
    const { code, options } = await providerErrorOf(server.http.post('/form', body, providerCall()));
    expect([code, options.upstream?.status]).toEqual(['validation_failed', 413]);
    await server.stop();
  });

  it('stops sending when the call is aborted or its deadline passes', async () => {
    const server = await impatient('');
    const body = new MultipartBody([file(Buffer.alloc(64 * MEBIBYTE))]);
    const deadlines = { connectMs: 10_000, firstTokenMs: 100, idleMs: 100, totalMs: 20_000 };
    const hasArrived = new Promise<void>((resolve) => (server.onRequest = resolve));
    const late = await providerErrorOf(server.http.post('/form', body, providerCall({ deadlines })));
    expect([late.code, late.options.phase]).toEqual(['provider_timeout', 'headers']);
    // On a busy machine it may arrive after its abort; it must not be mistaken for the next one.
    await hasArrived;
    const abort = new AbortController();
    server.onRequest = () => abort.abort();
    const left = await providerErrorOf(server.http.post('/form', body, providerCall({ signal: abort.signal })));
    expect([left.code, left.options.phase]).toEqual(['provider_disconnect', 'headers']);
    await server.stop();
  });
});
