/** Incomplete audio: failing providers, disconnecting clients, and slow clients. */
import type { ServerResponse } from 'node:http';
import { connect, type Server, type Socket } from 'node:net';
import { brokenSpeech, speech } from '../../conformance/media-answers';
import type { CallReply, TestCustomer } from '../../harness/gateway';
import { until } from '../idempotency/keyed-gateway';
import { AudioGateway } from './audio-gateway';

const PATH = '/v1/audio/speech';
const BODY = { model: 'local/voice', input: 'Hello there.', voice: 'alloy' };
const COST_MICRO = 180;
/** Longer than a busy machine can stall the process. */
const STALL_MS = 3_000;

let audio: AudioGateway;
let customer: TestCustomer;

beforeAll(async () => {
  audio = await AudioGateway.start({ UPSTREAM_IDLE_TIMEOUT_MS: String(STALL_MS) });
});
beforeEach(async () => {
  customer = await audio.gateway.customer();
});
afterAll(() => audio.stop());

/** Resolves when the gateway has seen the next connection close. */
function nextConnectionEnds(): Promise<void> {
  const server = audio.gateway.app.getHttpServer() as Server;
  return new Promise((resolve) => server.once('connection', (socket: Socket) => socket.once('close', () => resolve())));
}

function speak(fields: object = {}, headers: Record<string, string> = {}): Promise<CallReply> {
  return audio.gateway.call(PATH, { key: customer.key, headers, body: { ...BODY, ...fields } });
}

/** A request whose response stays in its socket. */
function ask(headers = '', version = '1.1'): Socket {
  const body = JSON.stringify(BODY);
  const socket = connect(Number(new URL(audio.gateway.url).port), '127.0.0.1');
  socket.on('error', () => undefined);
  socket.write(
    `POST ${PATH} HTTP/${version}\r\nHost: gateway\r\nAuthorization: Bearer ${customer.key}\r\n${headers}` +
      `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
  return socket;
}

/** Audio that has started and continues when the test allows it. */
function beginSound(bytes = 1_000): { readonly responses: ServerResponse[] } {
  const responses: ServerResponse[] = [];
  audio.upstream.answer = (response) => {
    responses.push(response.writeHead(200, { 'content-type': 'audio/mpeg' }));
    response.write(Buffer.alloc(bytes, 1));
  };
  return { responses };
}

describe('a provider that breaks off in mid-audio', () => {
  it.each([1, 63, 64, 65, 1_000, 65_536, 300_000])(
    'after %i bytes causes a broken connection, no charge, and a free key',
    async (bytes) => {
      audio.upstream.answer = brokenSpeech(Buffer.alloc(bytes, 1));
      await expect(speak({}, { 'idempotency-key': `broken-${bytes}` })).rejects.toThrow();
      await until(async () => (await audio.records(customer)).length === 1);
      expect(await audio.records(customer)).toMatchObject([{ status: 502, charged_micro: '0', characters: null }]);
      expect(await audio.account(customer)).toEqual({ free: 10_000_000, held: 0 });

      audio.upstream.answer = speech('whole');
      const retry = await speak({}, { 'idempotency-key': `broken-${bytes}` });
      expect([retry.text, retry.headers.get('idempotent-replayed')]).toEqual(['whole', null]);
    },
  );

  it('by going silent has the same effect', async () => {
    beginSound();
    await expect(speak()).rejects.toThrow();
    await until(async () => (await audio.records(customer)).length === 1);
    expect(await audio.records(customer)).toMatchObject([
      { status: 502, error_code: 'stream_interrupted', charged_micro: '0' },
    ]);
  });

  it('resets the connection of a client that would take a clean end for the end of the audio', async () => {
    audio.upstream.answer = brokenSpeech(Buffer.alloc(1_000, 1));
    const socket = ask('', '1.0').resume();
    const ending = await new Promise((resolve) => {
      socket.on('error', (error: NodeJS.ErrnoException) => resolve(error.code)).on('end', () => resolve('end'));
    });
    expect(ending).toBe('ECONNRESET');
  });

  it('is reported in an event stream without a charge', async () => {
    audio.upstream.answer = brokenSpeech(Buffer.alloc(1_000, 1));
    const reply = await speak({ stream_format: 'sse' });
    expect(reply.status).toBe(200);
    expect(JSON.parse(reply.events.at(-2) ?? '').error.code).toBe('stream_interrupted');
    expect(await audio.account(customer)).toEqual({ free: 10_000_000, held: 0 });
  });
});

describe('a client that disconnects', () => {
  it('in mid-audio without a key cancels the provider call and pays for the whole text', async () => {
    const { responses } = beginSound();
    const socket = ask();
    await new Promise((resolve) => socket.once('data', resolve));
    socket.destroy();
    await until(() => responses[0]?.destroyed === true);
    await until(async () => (await audio.records(customer)).length === 1);
    expect(await audio.records(customer)).toMatchObject([
      { status: 499, charged_micro: String(COST_MICRO), characters: '12', usage_estimated: false },
    ]);
    expect(await audio.account(customer)).toEqual({ free: 10_000_000 - COST_MICRO, held: 0 });
  });

  it('before the first byte pays nothing', async () => {
    const responses: ServerResponse[] = [];
    audio.upstream.answer = (response) => void responses.push(response);
    const socket = ask();
    await until(() => responses.length === 1);
    socket.destroy();
    await until(async () => (await audio.records(customer)).length === 1);
    expect(await audio.account(customer)).toEqual({ free: 10_000_000, held: 0 });
  });

  it('with a key gets the complete audio on replay and pays once', async () => {
    const { responses } = beginSound();
    const gone = nextConnectionEnds();
    const socket = ask('Idempotency-Key: back\r\n');
    await new Promise((resolve) => socket.once('data', resolve));
    socket.destroy();
    await gone;
    responses[0]?.end(Buffer.alloc(500, 2));
    await until(async () => (await audio.records(customer)).length === 1);
    const replay = await speak({}, { 'idempotency-key': 'back' });
    expect(replay.headers.get('idempotent-replayed')).toBe('true');
    expect(replay.bytes.equals(Buffer.concat([Buffer.alloc(1_000, 1), Buffer.alloc(500, 2)]))).toBe(true);
    expect(responses).toHaveLength(1);
    expect(await audio.account(customer)).toEqual({ free: 10_000_000 - COST_MICRO, held: 0 });
  });

  it('with a key pays nothing when its provider fails later', async () => {
    const { responses } = beginSound();
    const gone = nextConnectionEnds();
    const socket = ask('Idempotency-Key: unlucky\r\n');
    await new Promise((resolve) => socket.once('data', resolve));
    socket.destroy();
    await gone;
    responses[0]?.destroy();
    await until(async () => (await audio.records(customer)).length === 1);
    expect(await audio.account(customer)).toEqual({ free: 10_000_000, held: 0 });
  });
});

describe('a slow client', () => {
  /** More than the buffers of a connection hold. */
  const LONG = Buffer.alloc(12 * 1_048_576, 1);
  const BYTES_PER_MS = 2_048;

  it('gets all audio, though it takes longer than the idle timeout', async () => {
    audio.upstream.answer = speech(LONG);
    const startedAtMs = performance.now();
    let bytes = 0;
    const socket = ask();
    socket.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      socket.pause();
      setTimeout(() => socket.resume(), chunk.length / BYTES_PER_MS);
    });
    await until(() => bytes > LONG.length, 60_000);
    expect(performance.now() - startedAtMs).toBeGreaterThan(STALL_MS);
    await until(async () => (await audio.records(customer)).length === 1);
    expect(await audio.records(customer)).toMatchObject([{ status: 200, charged_micro: String(COST_MICRO) }]);
    socket.destroy();
  });

  it('that reads nothing is disconnected and pays like one that disconnects', async () => {
    // More than the buffers of both connections, which the kernel lets grow to 32 MiB while they are read.
    const endBytes = 96 * 1_048_576;
    let sentBytes = 0;
    audio.upstream.answer = (response) => {
      response.writeHead(200, { 'content-type': 'audio/mpeg' });
      const pump = (): void => {
        while (sentBytes < endBytes && !response.destroyed) {
          sentBytes += 65_536;
          if (!response.write(LONG.subarray(0, 65_536))) return;
        }
      };
      response.on('drain', pump);
      pump();
    };
    const socket = ask().pause();
    await until(async () => (await audio.records(customer)).length === 1);
    expect(await audio.records(customer)).toMatchObject([{ status: 499, charged_micro: String(COST_MICRO) }]);
    expect(sentBytes).toBeLessThan(endBytes);
    socket.destroy();
  });
});

it('leaves a valid ledger', async () => {
  expect(await audio.gateway.violations()).toEqual([]);
});
