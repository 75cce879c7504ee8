import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** One dollar per million prompt tokens, two per million of output. */
const PRICES = [
  {
    effective_from: '2026-01-01',
    source: 'made up',
    checked_at: '2026-01-01',
    tokens: { per_1m_micro: { input: 1_000_000, output: 2_000_000 } },
  },
];

const model = (id: string, upstreams: readonly string[], extra: object, deployment: object = {}): object => ({
  id,
  display_name: id,
  modality: 'text',
  input_modalities: ['text'],
  output_modalities: ['text'],
  ...extra,
  deployments: upstreams.map((name) => ({ provider: 'openai-compatible', upstream_model: name, ...deployment })),
  prices: PRICES,
});

/** A model for each dialect of an upstream's chat besides OpenAI's. */
export const DIALECT_MODELS: readonly object[] = [
  model('local/responses', ['one'], {}, { provider: 'openai', dialect: 'openai-responses' }),
  model('local/messages', ['one'], { max_output: 8_192 }, { provider: 'anthropic' }),
  model('local/generate', ['one'], {}, { provider: 'google' }),
];

/** A catalogue directory with models of a scripted upstream. */
export function createCatalog(more: readonly object[] = []): { readonly path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), 'gateway-catalog-'));
  const models = [
    model('local/chat', ['one'], { context: 32_768, max_output: 8_192 }),
    model('local/unbounded', ['one'], {}),
    model('local/four', ['one', 'two', 'three', 'four'], { context: 32_768, max_output: 8_192 }),
    ...more,
  ];
  writeFileSync(join(path, 'local.json'), JSON.stringify(models));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

/** An event of a stream. */
export const event = (payload: object | string): string =>
  `data: ${typeof payload === 'string' ? payload : JSON.stringify(payload)}\n\n`;

/** A chunk with one choice. */
export const chunk = (delta: object, finishReason: string | null = null, extra: object = {}): string =>
  event({ id: 'c', created: 1, choices: [{ index: 0, delta, finish_reason: finishReason }], ...extra });

export const usageChunk = (prompt: number, completion: number): string =>
  event({ choices: [], usage: { prompt_tokens: prompt, completion_tokens: completion } });
