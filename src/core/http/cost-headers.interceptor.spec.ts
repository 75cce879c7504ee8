import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { Controller, Get, HttpCode, Post } from '@nestjs/common';
import { APP_INTERCEPTOR } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import { Metrics } from '../observability/metrics/catalogue';
import { APP_CONFIG, type AppConfig } from '../config/app-config';
import { GatewayError } from '../errors/gateway-error';
import type { RequestContext } from '../types/request-context';
import { type Answer, Bytes, eventOf, EventStream, Json, LiveBytes } from './answer';
import { CostHeadersInterceptor } from './cost-headers.interceptor';
import { createFastifyAdapter } from './fastify-adapter';
import { GatewayExceptionFilter } from './gateway-exception.filter';

const CONFIG = {
  http: { ssePingMs: 20, sseMergeMs: 0, trustProxy: [], maxRequestBytes: 1_000 },
  inference: { idleTimeoutMs: 100 },
} as unknown as AppConfig;

const BILLED = { modelId: 'acme/one', costMicro: 42n };
const OVERLOADED = new GatewayError('service_unavailable', 'busy');
const toEvent = (failure: GatewayError): string => eventOf({ code: failure.code });
const stopped = Promise.withResolvers<void>();

async function* produceEndlessly(): AsyncGenerator<string> {
  try {
    for (;;) yield 'x'.repeat(65_536);
  } finally {
    stopped.resolve();
  }
}

@Controller()
class Routes {
  @Post('json')
  @HttpCode(200)
  getJson(): Answer {
    return new Json('{"a":1}', { billed: BILLED, headers: { 'x-own': 'yes' } });
  }

  @Get('text')
  getText(): Answer {
    return new Bytes('hello', 'text/plain; charset=utf-8', { status: 206 });
  }

  @Get('pieces')
  getPieces(): Answer {
    return new Bytes([Buffer.from('ab'), Buffer.from('cd')], 'text/plain; charset=utf-8');
  }

  @Get('nothing')
  getNothing(): Answer {
    return new Bytes(null, null, { status: 204 });
  }

  @Get('endless')
  getEndless(): Answer {
    return new Bytes(Readable.from(produceEndlessly()), 'text/plain; charset=utf-8');
  }

  @Get('object')
  getObject(): object {
    return { plain: true };
  }

  @Get('events')
  getEvents(): Answer {
    return new EventStream(
      async (output) => {
        output.start();
        output.write(eventOf({ n: 1 }));
        output.finish(eventOf({ n: 2 }));
      },
      () => BILLED,
      toEvent,
    );
  }

  @Get('refused')
  getRefused(): Answer {
    return new EventStream(
      () => Promise.reject(OVERLOADED),
      () => BILLED,
      toEvent,
    );
  }

  @Get('interrupted')
  getInterrupted(): Answer {
    return new EventStream(
      async (output) => {
        output.startEarly();
        output.fail(OVERLOADED);
      },
      () => BILLED,
      toEvent,
    );
  }

  @Get('audio')
  getAudio(): Answer {
    const content = new LiveBytes(
      async (output) => {
        output.start();
        output.write(Buffer.from('sound'));
        output.finish('');
      },
      () => BILLED,
    );
    return new Bytes(content, 'audio/mpeg');
  }

  @Get('broken-audio')
  getBrokenAudio(): Answer {
    const content = new LiveBytes(
      async (output) => {
        output.start();
        output.write(Buffer.alloc(1_000));
        output.fail(OVERLOADED);
      },
      () => BILLED,
    );
    return new Bytes(content, 'audio/mpeg');
  }
}

let app: NestFastifyApplication;
let origin: string;

beforeAll(async () => {
  const testing = await Test.createTestingModule({
    controllers: [Routes],
    providers: [
      { provide: APP_CONFIG, useValue: CONFIG },
      Metrics,
      { provide: APP_INTERCEPTOR, useClass: CostHeadersInterceptor },
    ],
  }).compile();
  app = testing.createNestApplication<NestFastifyApplication>(createFastifyAdapter(CONFIG, Date), {
    logger: false,
  });
  app
    .getHttpAdapter()
    .getInstance()
    .addHook('onRequest', async (request) => {
      request.context = {
        requestId: 'req_1',
        rateLimitHeaders: { 'x-ratelimit-limit-requests': '7' } as Readonly<Record<string, string>>,
      } as RequestContext;
    });
  app.useGlobalFilters(new GatewayExceptionFilter());
  await app.listen(0, '127.0.0.1');
  origin = await app.getUrl();
});

afterAll(() => app.close());

const COST_HEADERS = { 'x-llm-model': 'acme/one', 'x-llm-cost-micro': '42', 'x-ratelimit-limit-requests': '7' };

it('sends JSON unchanged, with model, cost and rate limits in the headers', async () => {
  const reply = await app.inject({ method: 'POST', url: '/json' });
  expect([reply.statusCode, reply.body]).toEqual([200, '{"a":1}']);
  expect(reply.headers).toMatchObject({
    ...COST_HEADERS,
    'x-own': 'yes',
    'content-type': 'application/json; charset=utf-8',
    'content-length': '7',
  });
});

it.each([
  ['/text', 206, 'hello', '5'],
  ['/pieces', 200, 'abcd', '4'],
])('sends %s with its status, type and length', async (url, status, body, length) => {
  const reply = await fetch(origin + url);
  expect([reply.status, await reply.text()]).toEqual([status, body]);
  expect([reply.headers.get('content-type'), reply.headers.get('content-length')]).toEqual([
    'text/plain; charset=utf-8',
    length,
  ]);
  expect(reply.headers.has('x-llm-model')).toBe(false);
});

it('sends an answer without a body', async () => {
  const reply = await app.inject({ method: 'GET', url: '/nothing' });
  expect([reply.statusCode, reply.body]).toEqual([204, '']);
});

it('leaves other values to Nest', async () => {
  expect((await app.inject({ method: 'GET', url: '/object' })).json()).toEqual({ plain: true });
});

it('streams events with the cost headers and one [DONE]', async () => {
  const reply = await fetch(`${origin}/events`);
  expect(Object.fromEntries(reply.headers)).toMatchObject({
    ...COST_HEADERS,
    'x-request-id': 'req_1',
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache, no-transform',
  });
  expect(await reply.text()).toBe('data: {"n":1}\n\ndata: {"n":2}\n\ndata: [DONE]\n\n');
});

it('answers a stream that fails before its headers with the error envelope', async () => {
  const reply = await app.inject({ method: 'GET', url: '/refused' });
  expect(reply.statusCode).toBe(503);
  expect(reply.json()).toMatchObject({ error: { code: 'service_unavailable' } });
});

it('reports a failure after the headers inside the stream', async () => {
  const reply = await fetch(`${origin}/interrupted`);
  expect(await reply.text()).toBe(': ping\n\ndata: {"code":"service_unavailable"}\n\ndata: [DONE]\n\n');
});

it('streams raw bytes with the cost headers', async () => {
  const reply = await fetch(`${origin}/audio`);
  expect(Object.fromEntries(reply.headers)).toMatchObject({ ...COST_HEADERS, 'content-type': 'audio/mpeg' });
  expect(await reply.text()).toBe('sound');
});

it('resets the connection when raw bytes are interrupted', async () => {
  const download = fetch(`${origin}/broken-audio`).then((reply) => reply.arrayBuffer());
  await expect(download).rejects.toThrow(/terminated|fetch failed/);
});

it('disconnects a client that stops reading, and ends the source', async () => {
  const request = get(`${origin}/endless`);
  request.on('error', () => undefined);
  const [reply] = (await once(request, 'response')) as [IncomingMessage];
  reply.on('error', () => undefined);
  reply.once('readable', () => undefined);
  await expect(stopped.promise).resolves.toBeUndefined();
  request.destroy();
  await expect(text(reply)).rejects.toThrow('aborted');
});
