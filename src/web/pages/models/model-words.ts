import type { Model } from '../../../contract/dashboard';

const FEATURES: ReadonlyArray<readonly [string, string]> = [
  ['streaming', 'streaming'],
  ['tools', 'tools'],
  ['vision', 'image input'],
  ['json_schema', 'JSON schema'],
  ['logprobs', 'logprobs'],
  ['completions', 'text completions'],
  ['dimensions', 'custom dimensions'],
  ['edit', 'image editing'],
  ['mask', 'masks'],
  ['needs_mask', 'masked edits only'],
  ['instructions', 'instructions'],
  ['speed', 'speed'],
];

/** What a model can do, in words. */
export function featureWords({ features }: Model): readonly string[] {
  const words = FEATURES.filter(([name]) => features[name as keyof typeof features] === true).map(([, word]) => word);
  if (features.reasoning !== undefined && features.reasoning.length > 0) words.push('reasoning');
  if (Array.isArray(features.timestamps)) words.push('timestamps');
  return words;
}

/** `128K`, `1M`. */
export function formatContext(tokens: number): string {
  if (tokens >= 1_000_000) return `${Math.round(tokens / 100_000) / 10}M`;
  return tokens >= 1000 ? `${Math.round(tokens / 1000)}K` : String(tokens);
}
