import { Body, Controller, Get, HttpCode, Injectable, Logger, Post, Req } from '@nestjs/common';
import { APP_INTERCEPTOR } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import type { FastifyRequest } from 'fastify';
import { Metrics } from '../../core/observability/metrics/catalogue';
import { APP_CONFIG, type AppConfig } from '../../core/config/app-config';
import { createFastifyAdapter } from '../../core/http/fastify-adapter';
import { GatewayError } from '../../core/errors/gateway-error';
import { CostHeadersInterceptor } from '../../core/http/cost-headers.interceptor';
import { GatewayExceptionFilter } from '../../core/http/gateway-exception.filter';
import type { RequestContext } from '../../core/types/request-context';
import { Idempotent } from '../../core/http/route.decorators';
import { IdempotencyInterceptor, readIdempotencyKey } from './idempotency.interceptor';
import { ReplayedResponse, UNKNOWN_OUTCOME } from './replayed-response';

const CONFIG = { http: { ssePingMs: 1_000, sseMergeMs: 0 }, inference: { idleTimeoutMs: 1_000 } } as AppConfig;

/** The pipe of a body runs after the key is read. */
@Injectable()
class ReadBody {
  transform(body: unknown): unknown {
    return body;
  }
}

@Controller()
class Routes {
  @Post('optional')
  @HttpCode(200)
  @Idempotent()
  readOptional(@Req() { context }: FastifyRequest, @Body(ReadBody) _body: unknown): object {
    return { key: context.idempotencyKey };
  }

  @Post('required')
  @HttpCode(200)
  @Idempotent({ required: true })
  readRequired(@Req() { context }: FastifyRequest): object {
    return { key: context.idempotencyKey };
  }

  @Post('ignored')
  @HttpCode(200)
  readIgnored(@Req() { context }: FastifyRequest): object {
    return { key: context.idempotencyKey };
  }

  @Post('stored')
  @Idempotent()
  getStored(): ReplayedResponse {
    const headers = { 'content-type': 'application/json; charset=utf-8', 'x-llm-model': 'acme/one' };
    return new ReplayedResponse({ status: 202, headers, body: Buffer.from('{"stored":true}') });
  }

  @Post('unknown')
  @Idempotent()
  getUnknown(): ReplayedResponse {
    return new ReplayedResponse({ ...UNKNOWN_OUTCOME, body: Buffer.alloc(0) });
  }

  @Get('first')
  @Idempotent()
  getFirst(): object {
    return { first: true };
  }
}

let app: NestFastifyApplication;

beforeAll(async () => {
  const testing = await Test.createTestingModule({
    controllers: [Routes],
    providers: [
      { provide: APP_CONFIG, useValue: CONFIG },
      Metrics,
      { provide: APP_INTERCEPTOR, useClass: CostHeadersInterceptor },
      { provide: APP_INTERCEPTOR, useClass: IdempotencyInterceptor },
    ],
  }).compile();
  const config = { http: { trustProxy: [], maxRequestBytes: 1_000 } } as unknown as AppConfig;
  app = testing.createNestApplication<NestFastifyApplication>(createFastifyAdapter(config, Date), {
    logger: false,
  });
  app
    .getHttpAdapter()
    .getInstance()
    .addHook('onRequest', async (request) => {
      request.rules = request.routeOptions.config;
      request.context = { idempotencyKey: null, rateLimitHeaders: null } as RequestContext;
    });
  app.useGlobalFilters(new GatewayExceptionFilter());
  await app.init();
});

afterEach(() => jest.restoreAllMocks());
afterAll(() => app.close());

function post(path: string, key?: string) {
  return app.inject({ method: 'POST', url: path, headers: key === undefined ? {} : { 'idempotency-key': key } });
}

it.each([
  ['/optional', 'abc', { key: 'abc' }],
  ['/optional', undefined, { key: null }],
  ['/optional', 'a b', { error: { code: 'validation_failed' } }],
  ['/required', 'abc', { key: 'abc' }],
  ['/required', undefined, { error: { code: 'idempotency_key_required' } }],
  ['/ignored', 'a b', { key: null }],
])('%s with the key %p returns %p', async (path, key, expected) => {
  expect((await post(path, key)).json()).toMatchObject(expected);
});

it('sends a stored response with its status, headers and Idempotent-Replayed', async () => {
  const reply = await post('/stored', 'abc');
  expect([reply.statusCode, reply.body]).toEqual([202, '{"stored":true}']);
  expect(reply.headers).toMatchObject({ 'idempotent-replayed': 'true', 'x-llm-model': 'acme/one' });
});

it('returns internal_error with outcome_unknown for a stored failure', async () => {
  const reply = await post('/unknown', 'abc');
  expect(reply.statusCode).toBe(500);
  expect(reply.headers).toMatchObject({ 'idempotent-replayed': 'true', 'x-should-retry': 'false' });
  expect(reply.json()).toMatchObject({
    error: { code: 'internal_error', details: { reason: 'outcome_unknown' } },
  });
});

it('does not log a replayed failure again', async () => {
  const log = jest.spyOn(Logger.prototype, 'error');
  await post('/unknown', 'abc');
  expect(log).not.toHaveBeenCalled();
});

it('does not mark a first response', async () => {
  const reply = await app.inject({ method: 'GET', url: '/first', headers: { 'idempotency-key': 'abc' } });
  expect(reply.json()).toEqual({ first: true });
  expect(reply.headers).not.toHaveProperty('idempotent-replayed');
});

function refusal(header: string | readonly string[] | undefined, required = false): object {
  try {
    readIdempotencyKey(header, required);
  } catch (error) {
    if (error instanceof GatewayError) return { code: error.code, param: error.param };
  }
  throw new Error('the header was accepted');
}

describe('the Idempotency-Key header', () => {
  it.each(['a', '!~', 'x'.repeat(255), '8b4c1f0f-1a2b-3c4d'])('accepts %s', (key) => {
    expect(readIdempotencyKey(key, false)).toBe(key);
    expect(readIdempotencyKey(key, true)).toBe(key);
  });

  it.each([undefined, ''])('treats %p as no key', (header) => {
    expect(readIdempotencyKey(header, false)).toBeNull();
    expect(refusal(header, true)).toEqual({ code: 'idempotency_key_required', param: 'Idempotency-Key' });
  });

  it.each([
    ['256 characters', 'x'.repeat(256)],
    ['a space', 'a b'],
    ['two lines of one key, joined by Node', 'a, a'],
    ['two empty lines, joined by Node', ', '],
    ['a control character', 'a\u0007'],
    ['DEL', 'a\u007f'],
    ['Latin-1', 'caf\u00e9'],
    ['a list', ['a']],
  ])('refuses %s', (_title, header) => {
    expect(refusal(header)).toEqual({ code: 'validation_failed', param: 'Idempotency-Key' });
  });
});
