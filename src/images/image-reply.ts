import type { Bill, RenderedAnswer } from '../inference/inference.types';
import type { ReplyItem } from './image-delivery';
import { fillGaps, GAP, packReply } from './packed-reply';

const CONTENT_TYPE = 'application/json; charset=utf-8';

/** Renders the image response (contract 2.3) around its cost. Embedded images come in pieces. */
export function renderImages(items: readonly ReplyItem[], createdSeconds: number, { usage }: Bill): RenderedAnswer {
  const data = items.map(renderItem).join(',');
  const text = `{"created":${createdSeconds},"data":[${data}],"usage":{"images":${usage.images},"x_llm_cost_micro":`;
  const answer = { contentType: CONTENT_TYPE, head: text, tail: '}}' };
  const images = items.filter((item) => 'bytes' in item);
  if (images.length === 0) return answer;
  const base64 = images.map((image) => image.base64);
  const bytes = images.map((image) => image.bytes);
  return { ...answer, head: fillGaps(text, base64), keptHead: packReply(text, bytes) };
}

function renderItem(item: ReplyItem): string {
  const image = 'url' in item ? `"url":${JSON.stringify(item.url)}` : GAP;
  const { revisedPrompt } = item;
  return revisedPrompt === null ? `{${image}}` : `{${image},"revised_prompt":${JSON.stringify(revisedPrompt)}}`;
}
