import type { UrlCitation } from '../../contract/chat-event';
import { isJsonObject, type JsonObject } from '../../kit/json';
import { TextPositions } from './text-positions';

/**
 * The sources of an answer as `url_citation` annotations: for passages that search results support, and for passages
 * that recite a page. The upstream counts UTF-8 bytes, the annotations count characters.
 */
export function toAnnotations(candidate: JsonObject, text: string): readonly UrlCitation[] {
  const { groundingMetadata: grounding, citationMetadata: recited } = candidate;
  return grounding === undefined && recited === undefined
    ? []
    : annotationsOf(grounding, recited, new TextPositions().add(text));
}

function annotationsOf(grounding: unknown, recited: unknown, positions: TextPositions): readonly UrlCitation[] {
  const annotate = ({ uri, title }: JsonObject, { startIndex, endIndex }: JsonObject): UrlCitation[] => {
    if (typeof uri !== 'string') return [];
    const start = typeof startIndex === 'number' ? positions.at(startIndex) : 0;
    const end = typeof endIndex === 'number' ? positions.at(endIndex) : positions.length;
    // If the passage is unknown, the source applies to the whole answer.
    const span = start === null || end === null ? { start: 0, end: 0 } : { start, end };
    const citation = {
      start_index: span.start,
      end_index: span.end,
      url: uri,
      title: typeof title === 'string' ? title : uri,
    };
    return [{ type: 'url_citation', url_citation: citation }];
  };
  return [
    ...groundedPassages(grounding).flatMap(([source, segment]) => annotate(source, segment)),
    ...citationsIn(recited).flatMap((citation) => annotate(citation, citation)),
  ];
}

/**
 * Collects the sources of a streamed answer, whose offsets count from the start of the answer. Grounding comes with the
 * last piece or earlier (https://github.com/vercel/ai/pull/13123), and later metadata includes that of earlier pieces
 * (https://github.com/langchain-ai/langchainjs/pull/11456).
 */
export class StreamedSources {
  private readonly positions = new TextPositions();
  private grounding: unknown;
  /** Keyed by their JSON, since pieces may repeat citations of earlier pieces. */
  private readonly citations = new Map<string, JsonObject>();

  /** @param candidate of one piece */
  add({ groundingMetadata: grounding, citationMetadata: recited }: JsonObject, text: string): void {
    this.positions.add(text);
    if (isJsonObject(grounding) && grounding['groundingSupports'] !== undefined) this.grounding = grounding;
    for (const citation of citationsIn(recited)) this.citations.set(JSON.stringify(citation), citation);
  }

  /** Call this at the end of the answer. */
  toAnnotations(): readonly UrlCitation[] {
    return annotationsOf(this.grounding, { citationSources: [...this.citations.values()] }, this.positions);
  }
}

/** The Gemini API and Vertex AI name the list differently. */
function citationsIn(recited: unknown): readonly JsonObject[] {
  return isJsonObject(recited) ? objectsOf(recited['citationSources'] ?? recited['citations']) : [];
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
