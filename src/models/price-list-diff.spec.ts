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

  it.each([[[]], ['text'], [{ groq: 1 }]])('refuses %j, which is no price list', (content) => {
    expect(() => diffWithPriceList(MODELS, content, NOW_MS)).toThrow('neither the price list');
  });
});
