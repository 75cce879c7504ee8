import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { type Encoding, negotiateEncoding } from '../core/http/content-encoding';

/** A smaller reply fits a few packets either way. */
const WORTHWHILE_BYTES = 16_384;
const NOT_MODIFIED = 304;
/** Like gzip in size and time; the default of 11 takes seconds. */
const BROTLI_QUALITY = 4;

const COMPRESS: Readonly<Record<Exclude<Encoding, 'plain'>, (text: string) => Promise<Buffer>>> = {
  br: (text) => promisify(brotliCompress)(text, { params: { [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY } }),
  gzip: promisify<string, Buffer>(gzip),
};

/**
 * Compresses long JSON replies of the dashboard, such as series, outside the event loop. Streams pass untouched, and
 * `/v1` replies bypass Fastify's hooks. No reply this long contains a secret that its compressed length could reveal.
 */
export function addReplyCompression(server: FastifyInstance): void {
  server.addHook<unknown>('onSend', (request, reply, payload, done) => {
    if (request.routeOptions.config.session === undefined) return done(null, payload);
    const hasJson = isJson(reply, payload);
    if (hasJson || reply.statusCode === NOT_MODIFIED) reply.header('vary', 'Accept-Encoding');
    if (!hasJson || Buffer.byteLength(payload) < WORTHWHILE_BYTES) return done(null, payload);
    const encoding = negotiateEncoding(request.headers['accept-encoding']);
    if (encoding === 'plain') return done(null, payload);
    COMPRESS[encoding](payload).then((compressed) => {
      reply.header('content-encoding', encoding).removeHeader('content-length');
      weakenTag(reply);
      done(null, compressed);
    }, done);
  });
}

function isJson(reply: FastifyReply, payload: unknown): payload is string {
  return typeof payload === 'string' && String(reply.getHeader('content-type')).startsWith('application/json');
}

/** A strong tag identifies the exact bytes, which differ between encodings. */
function weakenTag(reply: FastifyReply): void {
  const tag = reply.getHeader('etag');
  if (typeof tag === 'string' && !tag.startsWith('W/')) reply.header('etag', `W/${tag}`);
}
