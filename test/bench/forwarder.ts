/**
 * The baseline: the minimal Node program between a client and a provider. It reads the request, sends it on with undici
 * and pipes the response back, without checks, keys or billing. Same HTTP client settings as the gateway.
 */
import { createServer, type IncomingMessage, type OutgoingHttpHeaders, type ServerResponse } from 'node:http';
import { Agent } from 'undici';
import { listenForBench } from '#bench/child-server';

const upstreamOrigin = process.argv[2];
if (!upstreamOrigin) throw new Error('usage: forwarder.ts <origin of the upstream>');
const agent = new Agent({ connections: 1024, pipelining: 1, headersTimeout: 0, bodyTimeout: 0, allowH2: false });

async function forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  const reply = await agent.request({
    origin: upstreamOrigin,
    path: request.url ?? '/',
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: Buffer.concat(parts),
  });
  const { 'content-type': contentType, 'content-length': contentLength } = reply.headers;
  const headers: OutgoingHttpHeaders = { 'content-type': String(contentType) };
  if (contentLength !== undefined) headers['content-length'] = String(contentLength);
  response.writeHead(reply.statusCode, headers);
  reply.body.pipe(response);
}

listenForBench(
  createServer((request, response) => {
    forward(request, response).catch((error: unknown) => response.destroy(error instanceof Error ? error : undefined));
  }),
);
