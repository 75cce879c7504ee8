import pLimit from 'p-limit';
import type { EmbeddingResult } from '../contract/embeddings';
import type { EmbeddingBatch, ProviderCall } from '../contract/provider-call';
import { addUsage, type UsageVector } from '../contract/usage';
import { SharedDeadline } from './await-result';

/** Concurrent calls of one request: clients send up to 2,048 inputs, and vendors limit requests per minute. */
const MAX_CALLS = 8;
/**
 * A low value, so that a text's tokens are overestimated. Long numbers have more tokens, and the upstream may then
 * refuse the batch.
 */
const BYTES_PER_TOKEN = 2;

/**
 * Groups inputs, in order, into as few batches as the upstream allows. An input that exceeds the limit by itself gets
 * its own batch.
 */
export function toBatches<Input extends string | readonly number[]>(
  inputs: readonly Input[],
  { inputs: maxInputs, tokens: maxTokens = Infinity }: EmbeddingBatch,
): Input[][] {
  const batches: Input[][] = [];
  let batch: Input[] = [];
  let batchTokens = 0;
  for (const input of inputs) {
    const tokens = tokensOf(input);
    if (batch.length === 0 || batch.length === maxInputs || batchTokens + tokens > maxTokens) {
      batches.push((batch = []));
      batchTokens = 0;
    }
    batch.push(input);
    batchTokens += tokens;
  }
  return batches;
}

function tokensOf(input: string | readonly number[]): number {
  return typeof input === 'string' ? Math.ceil(Buffer.byteLength(input) / BYTES_PER_TOKEN) : input.length;
}

/**
 * Embeds each batch with one call, and joins the results in order. Together the calls get the time limit of one. The
 * first failure aborts the others, and the client pays nothing, although the vendor may bill the calls that it has
 * answered. The usage is `null` if any call's usage is unknown.
 */
export async function embedBatches<Input>(
  batches: readonly Input[],
  call: ProviderCall,
  embed: (batch: Input, call: ProviderCall) => Promise<EmbeddingResult>,
): Promise<EmbeddingResult> {
  const [first] = batches;
  if (first !== undefined && batches.length === 1) return embed(first, call);
  const failure = new AbortController();
  const abortable = { ...call, signal: AbortSignal.any([call.signal, failure.signal]) };
  const deadline = new SharedDeadline(abortable);
  try {
    const results = await pLimit(MAX_CALLS).map(batches, (batch) => embed(batch, { ...abortable, ...deadline.next() }));
    return { vectors: results.flatMap(({ vectors }) => vectors), usage: sumOf(results.map(({ usage }) => usage)) };
  } finally {
    failure.abort();
  }
}

function sumOf(usages: readonly (UsageVector | null)[]): UsageVector | null {
  return usages.reduce((sum, usage) => (sum === null || usage === null ? null : addUsage(sum, usage)));
}
