import { FakeUpstream, flood, type Outflow } from '../../../test/conformance/fake-upstream';
import { providerCall } from '../../../test/conformance/provider-call';
import { settle } from '../../../test/harness/event-loop';
import { UpstreamHttp } from './upstream-http';

const MEBIBYTE = 1_048_576;
const FILE_BYTES = 64 * MEBIBYTE;
/** The most that the operating system buffers for a loopback connection, at both ends. */
const MOST_BUFFERED_BYTES = 16 * MEBIBYTE;

describe('a download', () => {
  let upstream: FakeUpstream;
  let http: UpstreamHttp;
  let outflow: Outflow = { bytes: 0 };

  beforeEach(async () => {
    upstream = await FakeUpstream.start();
    http = new UpstreamHttp({ baseUrl: new URL(`${upstream.origin}/v1`) });
    upstream.answer = (response) => {
      response.writeHead(200, { 'content-type': 'video/mp4', 'content-length': String(FILE_BYTES) });
      outflow = flood(response, Buffer.alloc(65_536, 'x'), FILE_BYTES);
    };
  });
  afterEach(async () => {
    await http.close();
    await upstream.stop();
  });

  it('reads no more of a file than a slow store takes: back-pressure bounds the memory', async () => {
    const file = await http.download(http.endpoint('files/1'), providerCall());
    await settle(100);
    const sentUnread = outflow.bytes;
    expect([sentUnread < MOST_BUFFERED_BYTES, file.readableLength < MEBIBYTE]).toEqual([true, true]);
    let readBytes = 0;
    let mostHeldBytes = 0;
    for await (const chunk of file) {
      readBytes += (chunk as Buffer).length;
      mostHeldBytes = Math.max(mostHeldBytes, file.readableLength);
    }
    expect([readBytes, mostHeldBytes < MEBIBYTE]).toEqual([FILE_BYTES, true]);
  });

  it('ends the transfer when its reader gives up', async () => {
    const broken = upstream.nextDisconnect();
    const file = await http.download(http.endpoint('files/1'), providerCall());
    file.destroy();
    await broken;
    expect(outflow.bytes).toBeLessThan(FILE_BYTES);
  });
});
