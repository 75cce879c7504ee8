/** The completion id for a response in either format. */
export function toCompletionId(id: string): string {
  return id.startsWith('chatcmpl-') ? id.slice('chat'.length) : id;
}
