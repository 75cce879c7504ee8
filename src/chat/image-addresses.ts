import type { ChatMessage } from '../providers/contract/chat';

/** An image part that refers to its image by an address. */
export interface ImageAddress {
  readonly url: string;
  /** Where it is in the request: `messages[i].content[j].image_url.url`. */
  readonly param: string;
}

const NONE: readonly ImageAddress[] = [];

interface ImagePart {
  readonly type: string;
  readonly image_url: { readonly url: string };
}

/** The addresses of the images in validated messages, in order, `data:` addresses left out. */
export function imageAddresses(messages: readonly ChatMessage[]): readonly ImageAddress[] {
  let found: ImageAddress[] | undefined;
  for (let index = 0; index < messages.length; index++) {
    const content = messages[index]?.content;
    if (!Array.isArray(content)) continue;
    for (let at = 0; at < content.length; at++) {
      const url = addressOf(content[at]);
      if (url !== null) (found ??= []).push({ url, param: `messages[${index}].content[${at}].image_url.url` });
    }
  }
  return found ?? NONE;
}

/** The same messages with addresses replaced; those without any are the same objects. */
export function withImages(
  messages: readonly ChatMessage[],
  replacements: ReadonlyMap<string, string>,
): readonly ChatMessage[] {
  return messages.map((message) => {
    const { content } = message;
    if (!Array.isArray(content) || !content.some((part) => addressOf(part) !== null)) return message;
    return { ...message, content: content.map((part) => replaced(part, replacements)) };
  });
}

function replaced(part: ImagePart, replacements: ReadonlyMap<string, string>): unknown {
  const url = replacements.get(addressOf(part) ?? '');
  return url === undefined ? part : { ...part, image_url: { ...part.image_url, url } };
}

function addressOf(part: ImagePart): string | null {
  if (part.type !== 'image_url' || part.image_url.url.startsWith('data:')) return null;
  return part.image_url.url;
}
