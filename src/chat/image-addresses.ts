import type { ChatMessage } from '../providers/contract/chat';

/** An image part with a URL. */
export interface ImageUrl {
  readonly url: string;
  /** Path in the request: `messages[i].content[j].image_url.url`. */
  readonly param: string;
}

const NONE: readonly ImageUrl[] = [];

interface ImagePart {
  readonly type: string;
  readonly image_url: { readonly url: string };
}

/** The image URLs in validated messages, in order, without `data:` URLs. */
export function findImageUrls(messages: readonly ChatMessage[]): readonly ImageUrl[] {
  let found: ImageUrl[] | undefined;
  for (let index = 0; index < messages.length; index++) {
    const content = messages[index]?.content;
    if (!Array.isArray(content)) continue;
    for (let at = 0; at < content.length; at++) {
      const url = urlOf(content[at]);
      if (url !== null) (found ??= []).push({ url, param: `messages[${index}].content[${at}].image_url.url` });
    }
  }
  return found ?? NONE;
}

/** Replaces image URLs in messages; messages without any are returned as the same objects. */
export function withImages(
  messages: readonly ChatMessage[],
  replacements: ReadonlyMap<string, string>,
): readonly ChatMessage[] {
  return messages.map((message) => {
    const { content } = message;
    if (!Array.isArray(content) || !content.some((part) => urlOf(part) !== null)) return message;
    return { ...message, content: content.map((part) => replaced(part, replacements)) };
  });
}

function replaced(part: ImagePart, replacements: ReadonlyMap<string, string>): unknown {
  const url = replacements.get(urlOf(part) ?? '');
  return url === undefined ? part : { ...part, image_url: { ...part.image_url, url } };
}

function urlOf(part: ImagePart): string | null {
  if (part.type !== 'image_url' || part.image_url.url.startsWith('data:')) return null;
  return part.image_url.url;
}
