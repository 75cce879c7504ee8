import { isJsonObject, type JsonObject } from '../../kit/json';

/**
 * Sources of an answer as `url_citation` annotations: passages that are supported by search results, and passages that
 * recite a page. The upstream counts bytes of UTF-8, the annotations count characters.
 */
export function toAnnotations(candidate: JsonObject, text: string): readonly JsonObject[] {
  const { groundingMetadata: grounding, citationMetadata: recited } = candidate;
  if (grounding === undefined && recited === undefined) return [];
  const bytes = Buffer.from(text);
  const positionOf = (offset: unknown, fallback: number): number =>
    typeof offset === 'number' ? bytes.subarray(0, offset).toString('utf8').length : fallback;
  const annotate = ({ uri, title }: JsonObject, { startIndex, endIndex }: JsonObject): JsonObject[] => {
    if (typeof uri !== 'string') return [];
    const span = { start_index: positionOf(startIndex, 0), end_index: positionOf(endIndex, text.length) };
    const citation = { ...span, url: uri, title: typeof title === 'string' ? title : uri };
    return [{ type: 'url_citation', url_citation: citation }];
  };
  const cited = isJsonObject(recited) ? (recited['citationSources'] ?? recited['citations']) : undefined;
  return [
    ...groundedPassages(grounding).flatMap(([source, segment]) => annotate(source, segment)),
    ...objectsOf(cited).flatMap((citation) => annotate(citation, citation)),
  ];
}

function groundedPassages(grounding: unknown): readonly (readonly [JsonObject, JsonObject])[] {
  if (!isJsonObject(grounding)) return [];
  const chunks = Array.isArray(grounding['groundingChunks']) ? (grounding['groundingChunks'] as unknown[]) : [];
  return objectsOf(grounding['groundingSupports']).flatMap(({ segment, groundingChunkIndices: indices }) =>
    (Array.isArray(indices) ? (indices as unknown[]) : []).flatMap((index) => {
      const chunk = chunks[Number(index)];
      const source = isJsonObject(chunk) ? (chunk['web'] ?? chunk['retrievedContext'] ?? chunk['maps']) : undefined;
      return isJsonObject(source) ? [[source, isJsonObject(segment) ? segment : {}] as const] : [];
    }),
  );
}

function objectsOf(list: unknown): readonly JsonObject[] {
  return Array.isArray(list) ? (list as readonly unknown[]).filter(isJsonObject) : [];
}
