import type { ChatEvent, ChatStart, TokenLogprob } from '../../providers/contract/chat-event';
import {
  type CompletionFinishReason,
  type CompletionRequest,
  toCompletionFinish,
} from '../../providers/contract/completions';
import type { EventRenderer } from '../chat-chunks';
import { toCompletionId } from './completion-id';
import { toCompletionLogprobs } from './completion-logprobs';

/** Renders the completion chunks of one chat stream, with the prompt echo in the first one. */
export function completionChunks({ echo, prompt }: CompletionRequest, model: string): EventRenderer {
  let head = '';
  let pendingEcho = echo === true ? prompt : '';
  let offset = 0;
  const chunk = (
    written: string,
    logprobs: readonly TokenLogprob[] = [],
    finishReason: CompletionFinishReason | null = null,
  ): string => {
    const text = pendingEcho + written;
    pendingEcho = '';
    const lists = toCompletionLogprobs({ content: logprobs }, offset);
    offset += text.length;
    return `${head}${JSON.stringify([{ text, index: 0, logprobs: lists, finish_reason: finishReason }])}}\n\n`;
  };
  const render = (event: ChatEvent): string => {
    switch (event.type) {
      case 'start':
        head = headOf(event, model);
        return pendingEcho === '' ? '' : chunk('');
      case 'text':
      case 'refusal':
        return event.text === '' && event.logprobs === undefined ? '' : chunk(event.text, event.logprobs);
      case 'finish':
        return chunk('', [], toCompletionFinish(event.reason));
      // Reasoning and tool calls have no equivalent.
      default:
        return '';
    }
  };
  return (events) => events.map(render).join('');
}

/** A chunk up to its choices. */
function headOf({ id, created, fingerprint }: ChatStart, model: string): string {
  const fields = {
    id: toCompletionId(id),
    object: 'text_completion',
    created,
    model,
    system_fingerprint: fingerprint,
  };
  return `data: ${JSON.stringify(fields).slice(0, -1)},"choices":`;
}
