import { catalogEntrySchema } from './catalog.schema';
import type { LoadedModel } from './load-catalog';
import { diffWithPriceList } from './price-list-diff';

const NOW_MS = Date.parse('2026-06-15');
const price = (from: string, input: number, output: number, cacheRead?: number): object => ({
  effective_from: from,
  source: 'list',
  checked_at: '2026-01-01',
  tokens: { per_1m_micro: { input, output, ...(cacheRead !== undefined && { cache_read: cacheRead }) } },
});
const load = (...entries: object[]): LoadedModel[] =>
  entries.map((entry) => ({
    entry: catalogEntrySchema.parse({
      modality: 'text',
      input_modalities: ['text'],
      output_modalities: ['text'],
      ...entry,
    }),
    source: 'builtin',
    file: 'a.yaml',
  }));

const MODELS = load({
  id: 'meta/llama',
  context: 1_000,
  max_output: 100,
  deployments: [
    {
      provider: 'groq',
      upstream_model: 'llama',
      prices: [price('2026-01-01', 9, 9), price('2026-06-01', 50_000, 80_000)],
    },
    { provider: 'together', upstream_model: 'meta/Llama', prices: [price('2026-01-01', 100_000, 200_000, 10_000)] },
    { provider: 'openrouter', upstream_model: 'meta/llama', prices: [price('2027-01-01', 1, 1)] },
    { provider: 'cerebras', upstream_model: 'llama', prices: [price('2026-01-01', 1, 1)] },
  ],
});

describe('diffWithPriceList', () => {
  it.each([
    [
      'models.dev',
      {
        groq: { models: { llama: { cost: { input: 0.05, output: 0.09 }, limit: { context: 1_000, output: 200 } } } },
        togetherai: {
          models: { 'meta/Llama': { cost: { input: 0.1, output: 0.2, cache_read: 0, cache_write: 0.125 } } },
        },
      },
    ],
    [
      'LiteLLM',
      {
        sample_spec: { litellm_provider: 'one of the providers', max_output_tokens: 'a number', mode: 'chat' },
        fallback_generalizations: { rules: [{ pattern: 'llama' }] },
        'groq/llama': {
          litellm_provider: 'groq',
          input_cost_per_token: 5e-8,
          output_cost_per_token: 9e-8,
          max_output_tokens: 200,
        },
        'together_ai/meta/Llama': {
          litellm_provider: 'together_ai',
          input_cost_per_token: 1e-7,
          output_cost_per_token: 2e-7,
          cache_creation_input_token_cost: 1.25e-7,
        },
      },
    ],
  ])('compares the price in force of each deployment with a list of %s', (_name, list) => {
    expect(diffWithPriceList(MODELS, list, NOW_MS)).toEqual({
      differences: [
        {
          model: 'meta/llama',
          provider: 'groq',
          upstreamModel: 'llama',
          field: 'output',
          catalogue: 80_000,
          listed: 90_000,
        },
        {
          model: 'meta/llama',
          provider: 'groq',
          upstreamModel: 'llama',
          field: 'max_output',
          catalogue: 100,
          listed: 200,
        },
        {
          model: 'meta/llama',
          provider: 'together',
          upstreamModel: 'meta/Llama',
          field: 'cache_write_5m',
          catalogue: null,
          listed: 125_000,
        },
      ],
      compared: 2,
      unlisted: ['cerebras/llama'],
    });
  });

  // The shape of https://github.com/anomalyco/models.dev/blob/dev/packages/core/src/schema.ts, all fields set.
  const published = (id: string, cost: object): object => ({
    id,
    name: id,
    family: 'claude-opus',
    attachment: true,
    reasoning: true,
    tool_call: true,
    interleaved: { field: 'reasoning_content' },
    structured_output: true,
    temperature: true,
    knowledge: '2026-01',
    release_date: '2026-03-04',
    last_updated: '2026-03-04',
    modalities: { input: ['text', 'image', 'pdf'], output: ['text'] },
    open_weights: false,
    cost: {
      ...cost,
      context_over_200k: { input: 10, output: 37.5 },
      tiers: [{ input: 10, output: 37.5, tier: { type: 'context', size: 200_000 } }],
    },
    limit: { context: 1_000, input: 900, output: 100 },
    status: 'beta',
    experimental: { modes: { fast: { cost: { input: 30, output: 150 }, provider: { body: { speed: 'fast' } } } } },
    provider: { npm: '@ai-sdk/anthropic', api: 'https://a.example', shape: 'responses' },
  });
  const publisher = (id: string, ...models: readonly object[]): object => ({
    id,
    env: ['A_KEY'],
    npm: '@ai-sdk/openai-compatible',
    api: 'https://a.example/v1',
    name: id,
    doc: 'https://a.example/models',
    models: Object.fromEntries(models.map((model) => [(model as { id: string }).id, model])),
  });

  it('reads the whole shape of models.dev, with its names of providers', () => {
    const list = {
      'amazon-bedrock': publisher(
        'amazon-bedrock',
        published('anthropic.claude', { input: 5, output: 25, reasoning: 30, input_audio: 6, output_audio: 25 }),
        published('openai.gpt', { input: 1, output: 2 }),
      ),
      'perplexity-agent': publisher('perplexity-agent', published('perplexity/sonar', { input: 0.25, output: 2.5 })),
    };
    const of = (provider: string, upstreamModel: string, input: number, output: number): object => ({
      id: `a/${provider}`,
      context: 1_000,
      max_output: 100,
      deployments: [{ provider, upstream_model: upstreamModel, prices: [price('2026-01-01', input, output)] }],
    });
    const models = load(
      of('bedrock-anthropic', 'anthropic.claude', 5_000_000, 25_000_000),
      of('bedrock', 'openai.gpt', 1_000_000, 2_000_000),
      of('perplexity', 'perplexity/sonar', 250_000, 2_500_000),
    );
    const { differences, compared, unlisted } = diffWithPriceList(models, list, NOW_MS);
    expect(differences.map(({ provider, field, catalogue, listed }) => [provider, field, catalogue, listed])).toEqual([
      ['bedrock-anthropic', 'reasoning', 25_000_000, 30_000_000],
      ['bedrock-anthropic', 'audio_in', 5_000_000, 6_000_000],
    ]);
    expect([compared, unlisted]).toEqual([3, []]);
  });

  it.each([[[]], ['text'], [{ groq: 1 }]])('refuses %j, which is no price list', (content) => {
    expect(() => diffWithPriceList(MODELS, content, NOW_MS)).toThrow('neither the price list');
  });
});
