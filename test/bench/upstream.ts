/**
 * The provider of the bench, in a separate process: always the same response, as cheap as `node:http` permits, so that
 * the measurement covers the program in front of it. Its argument is the pause between the events of a stream in
 * milliseconds; 0 leaves one event loop iteration.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { listenForBench } from '#bench/child-server';
import { asksForStream, PLAIN_REPLY, STREAM_EVENTS } from '#bench/wire';

const gapMs = Number(process.argv[2] ?? 0);
const PLAIN_HEADERS = { 'content-type': 'application/json', 'content-length': PLAIN_REPLY.length };
const STREAM_HEADERS = { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' };

function answer(request: IncomingMessage, response: ServerResponse): void {
  const parts: Buffer[] = [];
  request.on('data', (part: Buffer) => parts.push(part));
  request.on('end', () => {
    if (asksForStream(parts.length === 1 && parts[0] ? parts[0] : Buffer.concat(parts))) {
      response.writeHead(200, STREAM_HEADERS);
      writeFrom(response, 0);
    } else {
      response.writeHead(200, PLAIN_HEADERS);
      response.end(PLAIN_REPLY);
    }
  });
}

/** Each event is a separate write. Only a pause makes the reader see it alone: without one, a read returns several. */
function writeFrom(response: ServerResponse, index: number): void {
  if (response.destroyed) return;
  const event = STREAM_EVENTS[index];
  if (event === undefined) {
    response.end();
    return;
  }
  response.write(event);
  if (gapMs > 0) setTimeout(writeFrom, gapMs, response, index + 1);
  else setImmediate(writeFrom, response, index + 1);
}

listenForBench(createServer(answer));
