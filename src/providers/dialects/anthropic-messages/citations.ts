import type { UrlCitation } from '../../contract/chat-event';
import { isJsonObject, type JsonObject } from '../../kit/json';

/** The passage of the answer that a citation supports: the text block that carries it. */
interface Span {
  readonly start_index: number;
  readonly end_index: number;
}

/**
 * The citations of a text block (https://platform.claude.com/docs/en/build-with-claude/citations) as annotations. A
 * document of the request has no address: its name is a relative reference, with the cited page (RFC 8118) or
 * characters (RFC 5147) as the fragment.
 */
export function toAnnotations(citations: unknown, span: Span): UrlCitation[] {
  if (!Array.isArray(citations)) return [];
  return citations.filter(isJsonObject).flatMap((citation) => {
    const source = sourceOf(citation);
    if (source === null) return [];
    const { cited_text: content } = citation;
    const cited = { ...span, ...source, ...(typeof content === 'string' && { content }) };
    return [{ type: 'url_citation', url_citation: cited }];
  });
}

/** `null`: the citation names no source. */
function sourceOf(citation: JsonObject): { url: string; title: string } | null {
  const { url, source, title, document_index: index, document_title: name } = citation;
  const address = url ?? source;
  if (typeof address === 'string') return { url: address, title: typeof title === 'string' ? title : address };
  if (typeof index !== 'number') return null;
  const document = typeof name === 'string' && name !== '' ? name : `document-${index + 1}`;
  return { url: encodeURIComponent(document) + fragmentOf(citation), title: document };
}

function fragmentOf({ start_page_number: page, start_char_index: start, end_char_index: end }: JsonObject): string {
  if (typeof page === 'number') return `#page=${page}`;
  return typeof start === 'number' && typeof end === 'number' ? `#char=${start},${end}` : '';
}
