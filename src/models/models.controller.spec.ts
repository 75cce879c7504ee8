import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import { CLOCK } from '../core/time/clock';
import { GatewayError } from '../core/errors/gateway-error';
import type { Modality } from '../core/types/modality';
import type { Principal } from '../core/types/request-context';
import { ProvidersService } from '../providers/providers.service';
import { CatalogRepository } from './catalog.repository';
import { toCatalogRows } from './catalog-rows';
import { catalogEntrySchema } from './catalog.schema';
import { ModelCatalogService } from './model-catalog.service';
import { ModelListingService } from './model-listing.service';
import { ModelsController } from './models.controller';

const NOW_MS = Date.parse('2026-06-01T00:00:00Z');
const price = { effective_from: '2026-01-01', source: 'list', checked_at: '2026-01-01' };

function makeStored() {
  const entries = [
    {
      id: 'a/chat',
      display_name: 'Chat',
      modality: 'text',
      input_modalities: ['text', 'image'],
      output_modalities: ['text'],
      released: '2026-02-03',
      context: 1000,
      max_output: 100,
      features: { tools: true },
      deployments: [{ provider: 'mock', upstream_model: 'chat' }],
      prices: [{ ...price, tokens: { per_1m_micro: { input: 10, output: 20 } } }],
    },
    {
      id: 'b/picture',
      modality: 'image',
      input_modalities: ['text'],
      output_modalities: ['image'],
      media: { sizes: ['64x64'], max_images: 2 },
      deployments: [{ provider: 'mock', upstream_model: 'picture' }],
      prices: [{ ...price, image: { rows: [{ per_image_micro: 7 }] } }],
    },
  ].map((value) => ({ entry: catalogEntrySchema.parse(value), source: 'file' as const, file: 'x.yaml' }));
  const { models, deployments, prices } = toCatalogRows(entries);
  return {
    models: models.map((row) => ({ ...row, createdAt: new Date(0) })),
    deployments,
    prices: prices.map((row, at) => ({ ...row, id: `price-${at}`, revision: 1 })),
  };
}

describe('ModelsController', () => {
  let app: NestFastifyApplication;
  let allowedModels: Set<string> | null;
  let allowedModalities: Set<Modality> | null;

  beforeAll(async () => {
    const testing = await Test.createTestingModule({
      controllers: [ModelsController],
      providers: [
        ModelCatalogService,
        ModelListingService,
        { provide: CatalogRepository, useValue: { read: () => Promise.resolve(makeStored()) } },
        { provide: ProvidersService, useValue: { configuredIds: new Set(['mock']) } },
        { provide: CLOCK, useValue: { now: () => NOW_MS, monotonic: () => NOW_MS } },
      ],
    }).compile();
    app = testing.createNestApplication<NestFastifyApplication>(new FastifyAdapter(), { logger: false });
    const server = app.getHttpAdapter().getInstance();
    server.addHook('onRequest', (request, _reply, done) => {
      const limits = { requestsPerSecond: null, requestsPerMinute: null, tokensPerMinute: null, concurrency: null };
      const principal: Principal = {
        organizationId: 'o',
        keyId: 'k',
        allowedModels,
        allowedModalities,
        limits,
        organizationLimits: limits,
      };
      request.context = {
        id: 'i',
        requestId: 'r',
        startedAtMs: 0,
        clientAddress: '::1',
        clientRequestId: undefined,
        rateLimitHeaders: null,
        memory: null,
        isRecorded: false,
        trace: null,
        idempotencyKey: null,
        connection: { closed: false, onDisconnect: () => undefined },
        principal,
      };
      done();
    });
    app.useGlobalFilters({
      catch: (error: unknown, host) => {
        if (!(error instanceof GatewayError)) throw error;
        host.switchToHttp().getResponse().status(error.status).send({ code: error.code, param: error.param });
      },
    });
    await app.init();
    await server.ready();
    await app.get(ModelCatalogService).refresh();
  });

  beforeEach(() => {
    allowedModels = null;
    allowedModalities = null;
  });

  afterAll(() => app.close());

  async function get(url: string): Promise<{ status: number; body: unknown }> {
    const reply = await app.inject({ method: 'GET', url });
    return { status: reply.statusCode, body: reply.json() };
  }

  async function listIds(url: string): Promise<unknown> {
    const { body } = await get(url);
    return (body as { data: { id: string }[] }).data.map(({ id }) => id);
  }

  it.each(['/v1/models/a/chat', '/v1/models/a%2Fchat', '/v1/models/a%2fchat'])('answers %s', async (url) => {
    expect(await get(url)).toEqual({
      status: 200,
      body: {
        id: 'a/chat',
        object: 'model',
        created: Date.parse('2026-02-03') / 1000,
        owned_by: 'a',
        modality: 'text',
        name: 'Chat',
        context_length: 1000,
        max_output_tokens: 100,
        input_modalities: ['text', 'image'],
        output_modalities: ['text'],
        features: { tools: true },
        pricing: { tokens: { per_1m_micro: { input: 10, output: 20 } } },
      },
    });
  });

  it('names the values that requests may use, and omits limits that a model does not have', async () => {
    const { body } = await get('/v1/models/b/picture');
    expect(body).not.toHaveProperty('context_length');
    expect(body).not.toHaveProperty('max_output_tokens');
    expect((await get('/v1/models/a/chat')).body).not.toHaveProperty('media');
    expect(body).toMatchObject({ name: 'picture', media: { sizes: ['64x64'], max_images: 2 } });
    expect(body).toMatchObject({ pricing: { image: { rows: [{ per_image_micro: 7 }] } } });
  });

  it.each(['/v1/models/a/none', '/v1/models/a', '/v1/models/a/chat/more', '/v1/models/', '/v1/models/a%252Fchat'])(
    'answers %s with model_not_found',
    async (url) => {
      expect(await get(url)).toEqual({ status: 404, body: { code: 'model_not_found', param: 'model' } });
    },
  );

  it('lists models, optionally filtered by modality', async () => {
    expect(await get('/v1/models')).toMatchObject({ status: 200, body: { object: 'list' } });
    expect(await listIds('/v1/models')).toEqual(['a/chat', 'b/picture']);
    expect(await listIds('/v1/models?modality=image')).toEqual(['b/picture']);
    expect(await listIds('/v1/models?modality=video')).toEqual([]);
  });

  it.each(['?modality=smell', '?modality=', '?modality=text&modality=image'])('refuses %s', async (query) => {
    expect(await get(`/v1/models${query}`)).toEqual({
      status: 400,
      body: { code: 'validation_failed', param: 'modality' },
    });
  });

  it('lists only the allowed models of a restricted key', async () => {
    allowedModels = new Set(['a/*']);
    expect(await listIds('/v1/models')).toEqual(['a/chat']);
    expect(await get('/v1/models/b/picture')).toEqual({
      status: 403,
      body: { code: 'model_not_allowed', param: 'model' },
    });
    allowedModels = null;
    allowedModalities = new Set(['image']);
    expect(await listIds('/v1/models')).toEqual(['b/picture']);
    expect(await get('/v1/models/a/chat')).toEqual({
      status: 403,
      body: { code: 'modality_not_allowed', param: 'model' },
    });
    expect(await get('/v1/models/b/none')).toMatchObject({ status: 404 });
  });
});
