import type { ChunkTranslator } from '../chat-frames';
import { type CompletionRequest, toCompletionFinish } from '../../providers/contract/completions';
import { toCompletionId } from './completion-id';
import { toCompletionLogprobs } from './completion-logprobs';

/** Translates the chunks of one chat stream to completion chunks, with the prompt echo in the first one. */
export function completionChunks({ echo, prompt }: CompletionRequest): ChunkTranslator {
  let begun = false;
  let offset = 0;
  return ({ id, created, model, system_fingerprint: fingerprint, choices: [choice] }) => {
    const { delta, logprobs, finish_reason: reason } = choice;
    const written = delta.content ?? delta.refusal ?? '';
    const text = echo === true && !begun ? prompt + written : written;
    // Chunks with only a role or reasoning have no equivalent.
    if (text === '' && reason === null) return '';
    begun = true;
    const chunk = {
      id: toCompletionId(id),
      object: 'text_completion',
      created,
      model,
      ...(fingerprint !== undefined && { system_fingerprint: fingerprint }),
      choices: [
        {
          text,
          index: 0,
          logprobs: toCompletionLogprobs(logprobs, offset),
          finish_reason: reason === null ? null : toCompletionFinish(reason),
        },
      ],
    };
    offset += text.length;
    return `data: ${JSON.stringify(chunk)}\n\n`;
  };
}
