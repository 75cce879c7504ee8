/**
 * The `data` of each server-sent event, in order, without `[DONE]`. Comments, ids and event names are skipped: the
 * streams of `/v1` need none of them.
 */
export async function* eventData(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader();
  let rest = '';
  let lines: string[] = [];
  try {
    for (;;) {
      const { done, value } = await reader.read();
      // A carriage return may be the first half of a line end whose second half is in the next chunk.
      const text = rest + (value ?? '');
      const parts = text.split(/\r\n|\n|\r(?=[\s\S])/);
      rest = done ? '' : (parts.pop() ?? '');
      for (const line of parts) {
        if (line === '') {
          const data = lines.join('\n');
          lines = [];
          if (data !== '' && data !== '[DONE]') yield data;
        } else if (line.startsWith('data:')) lines.push(line.slice(line.startsWith('data: ') ? 6 : 5));
      }
      if (done) return;
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}
