import { catalogEntrySchema, endMs, startMs } from './catalog.schema';

const price = {
  effective_from: '2026-01-01',
  source: 'price list',
  checked_at: '2026-01-02',
  tokens: { per_1m_micro: { input: 100, output: 400 } },
};
const entry = {
  id: 'local/llama3.2:3b',
  modality: 'text',
  input_modalities: ['text'],
  output_modalities: ['text'],
  deployments: [{ provider: 'openai-compatible', upstream_model: 'llama3.2:3b' }],
  prices: [price],
};

const withDeployment = (more: object) => ({
  ...entry,
  modality: 'image',
  deployments: [{ provider: 'fal', upstream_model: 'x', ...more }],
});

const mapped = (map: object, fixed?: object) => withDeployment({ map, fixed, output: { image: '$' } });

function issuesOf(value: unknown): string[] {
  const result = catalogEntrySchema.safeParse(value);
  return result.success ? [] : result.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
}

describe('catalogEntrySchema', () => {
  it('accepts the smallest useful model and fills in the defaults', () => {
    expect(catalogEntrySchema.parse(entry)).toMatchObject({
      status: 'active',
      aliases: [],
      features: {},
      tokens_per_byte: 0.25,
      deployments: [{ quirks: {}, prices: [] }],
      prices: [{ currency: 'USD' }],
    });
  });

  it.each<readonly [string, unknown, string]>([
    ['an id without vendor', { ...entry, id: 'llama' }, 'id:'],
    ['an id with two slashes', { ...entry, id: 'a/b/c' }, 'id:'],
    ['an unknown key', { ...entry, contxt: 5 }, ':'],
    ['an unknown condition', withDeployment({ when: { images: true } }), 'deployments.0.when:'],
    [
      'a mapping of an unknown field',
      withDeployment({ map: { prompt: 'prompt', promt: 'x' }, output: { image: '$' } }),
      'deployments.0.map',
    ],
    ['a mapping without a result', withDeployment({ map: { prompt: 'prompt' } }), 'deployments.0.output.image:'],
    ['a path that is none', withDeployment({ output: { image: 'images[0]' } }), 'deployments.0.output.image:'],
    ['two mappings onto one path', mapped({ prompt: 'text', style: 'text' }), 'map.style: writes text'],
    ['a list that writes twice', mapped({ prompt: [{ to: 'text' }, { to: 'text' }] }), 'map.prompt: writes text'],
    ['a mapping into another', mapped({ prompt: 'input', size: 'input.image.size' }), 'map.size: writes input.'],
    ['a mapping around another', mapped({ prompt: 'input.text', size: 'input' }), 'map.size: writes input'],
    ['a mapping of a fixed path', mapped({ prompt: 'text' }, { text: 'a' }), 'fixed: writes text'],
    ['a mapping into a fixed path', mapped({ prompt: 'input.text' }, { input: 1 }), 'fixed: writes input'],
    ['fixed paths into each other', mapped({ prompt: 'text' }, { a: 1, 'a.b': 2 }), 'fixed: writes a.b'],
    ...['__proto__', 'a.__proto__.b', 'constructor.prototype', 'prototype'].flatMap<[string, unknown, string]>(
      (path) => [
        [`a mapping onto ${path}`, mapped({ prompt: path }), 'map.prompt:'],
        [`a list onto ${path}`, mapped({ prompt: [{ to: path }] }), 'map.prompt'],
        [`a fixed ${path}`, mapped({ prompt: 'text' }, JSON.parse(`{"${path}":1}`) as object), 'fixed'],
        [`a result at ${path}`, withDeployment({ output: { image: `$.${path}` } }), 'output.image:'],
      ],
    ),
    ['an unknown modality', { ...entry, modality: 'smell' }, 'modality:'],
    ['no deployment', { ...entry, deployments: [] }, 'deployments:'],
    [
      'the same deployment twice',
      { ...entry, deployments: [...entry.deployments, ...entry.deployments] },
      'deployments:',
    ],
    [
      'an unknown quirk',
      { ...entry, deployments: [{ ...entry.deployments[0], quirks: { fast: true } }] },
      'deployments.0.quirks:',
    ],
    ['an invalid date', { ...entry, released: '2026-02-30' }, 'released:'],
    ['prices that begin together', { ...entry, prices: [price, price] }, 'prices.1.effective_from:'],
    [
      'a price that ends before it begins',
      { ...entry, prices: [{ ...price, effective_to: '2025-12-31' }] },
      'prices.0.effective_to:',
    ],
    ['another currency', { ...entry, prices: [{ ...price, currency: 'EUR' }] }, 'prices.0.currency:'],
    ['a price without source', { ...entry, prices: [{ ...price, source: undefined }] }, 'prices.0.source:'],
    ['an empty music price', { ...entry, prices: [{ ...price, music: {} }] }, 'prices.0.music:'],
  ])('refuses %s', (_name, value, place) => {
    expect(issuesOf(value)).toEqual([expect.stringContaining(place)]);
  });

  it('accepts mappings onto paths that begin alike', () => {
    const map = { prompt: 'input.text', size: 'input.text_size', style: 'inputs', user: 'input.constructors' };
    expect(issuesOf(mapped(map, { 'input.proto': 1 }))).toEqual([]);
  });

  it.each([0.5, -1, 2 ** 53])('refuses %s as an amount', (input) => {
    const tokens = { per_1m_micro: { input, output: 1 } };
    expect(issuesOf({ ...entry, prices: [{ ...price, tokens }] })).toEqual([
      expect.stringContaining('prices.0.tokens.per_1m_micro.input:'),
    ]);
  });

  it('refuses tiers that do not ascend', () => {
    const tier = { above_input_tokens: 10, per_1m_micro: { input: 1, output: 1 } };
    const tokens = { per_1m_micro: { input: 1, output: 1 }, tiers: [tier, tier] };
    expect(issuesOf({ ...entry, prices: [{ ...price, tokens }] })).toEqual([
      expect.stringContaining('prices.0.tokens.tiers:'),
    ]);
  });
});

describe('catalogue dates', () => {
  it('last from midnight UTC to the end of the day', () => {
    expect(new Date(startMs('2026-12-31')).toISOString()).toBe('2026-12-31T00:00:00.000Z');
    expect(new Date(endMs('2026-12-31')).toISOString()).toBe('2027-01-01T00:00:00.000Z');
  });

  it('keep an instant unchanged', () => {
    expect(endMs('2026-12-31T12:00:00+02:00')).toBe(startMs('2026-12-31T10:00:00Z'));
  });
});
