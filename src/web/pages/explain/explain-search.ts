import { oneOf, uuidOf } from '../../app/search-values';

export const OPERATIONS = [
  'createChatCompletion',
  'createCompletion',
  'createResponse',
  'createEmbedding',
  'createImage',
  'createImageEdit',
  'createSpeech',
  'createTranscription',
  'createVideo',
  'createMusic',
] as const;

export interface ExplainSearch {
  readonly key?: string;
  readonly operation?: (typeof OPERATIONS)[number];
}

export function explainSearch(search: Record<string, unknown>): ExplainSearch {
  return { key: uuidOf(search.key), operation: oneOf(search.operation, OPERATIONS) };
}
