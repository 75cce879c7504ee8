import { eventData } from './event-stream';

const STREAM = ': hello\r\n\r\ndata: {"a":"ä€😀"}\r\n\r\nevent: x\ndata: one\ndata:two\n\ndata: [DONE]\n\n';
const EXPECTED = ['{"a":"ä€😀"}', 'one\ntwo'];

async function read(chunks: readonly Uint8Array[]): Promise<string[]> {
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });
  const events: string[] = [];
  for await (const data of eventData(body)) events.push(data);
  return events;
}

describe('an event stream', () => {
  const bytes = new TextEncoder().encode(STREAM);

  it('gives the same events wherever the network cuts it', async () => {
    for (let cut = 0; cut <= bytes.length; cut++) {
      expect(await read([bytes.slice(0, cut), bytes.slice(cut)])).toEqual(EXPECTED);
    }
    expect(await read([...bytes].map((byte) => Uint8Array.of(byte)))).toEqual(EXPECTED);
  });

  it('leaves out an event that the end of the stream cuts off', async () => {
    expect(await read([new TextEncoder().encode('data: one\n\ndata: tw')])).toEqual(['one']);
  });
});
