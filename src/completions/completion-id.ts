/** The id of an answer, whatever format it came in. */
export function toCompletionId(id: string): string {
  return id.startsWith('chatcmpl-') ? id.slice('chat'.length) : id;
}
