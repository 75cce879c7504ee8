import { Readable } from 'node:stream';
import { Controller, Get, Inject, Param, Query, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { GatewayError } from '../core/errors/gateway-error';
import { LocalStorage, type StoredFile } from '../core/storage/local-storage';
import { headOf } from '../core/storage/object-key';
import { OBJECT_STORAGE, type ObjectStorage } from '../core/storage/object-storage';
import { type ByteRange, readByteRange } from '../core/http/byte-range';
import { PublicRoute } from '../core/http/public-route.decorator';

/**
 * Serves the objects of `LocalStorage`. The signed URL is the permission, until it expires. A wrong signature, an
 * expired URL and a missing object return the same error, and the first two touch no file.
 */
@Controller('v1/objects')
export class StoredObjectController {
  private readonly storage: LocalStorage | null;

  constructor(@Inject(OBJECT_STORAGE) storage: ObjectStorage | null) {
    this.storage = storage instanceof LocalStorage ? storage : null;
  }

  /** Object keys contain slashes, hence the wildcard. Fastify serves HEAD from this handler too. */
  @Get('*')
  @PublicRoute()
  async getStoredObject(
    @Param('*') key: string,
    @Query('expires') expires: unknown,
    @Query('signature') signature: unknown,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const secondsLeft = this.storage?.secondsLeft(key, expires, signature) ?? 0;
    const file = secondsLeft > 0 ? await this.storage?.open(key) : null;
    if (file == null) throw new GatewayError('not_found', 'The object does not exist, or the URL has expired.');
    if (request.method === 'HEAD') {
      await file.close();
      describe(reply, key, file, secondsLeft);
      // Any other body would make Fastify count its bytes.
      await reply.header('content-length', file.sizeBytes).send(Readable.from([]));
      return;
    }
    const range = await requireRange(request, reply, file);
    describe(reply, key, file, secondsLeft);
    await sendPart(reply, file, range);
  }
}

/** The code is one of the contract's; the status is the one that clients of ranges expect (RFC 9110 section 15.5.17). */
class RangeNotSatisfiableError extends GatewayError {
  constructor(sizeBytes: number) {
    super('validation_failed', `The object has only ${sizeBytes} bytes.`, { param: 'Range' });
  }

  override get status(): number {
    return 416;
  }
}

/** @throws RangeNotSatisfiableError after the size is set in `Content-Range` */
async function requireRange(
  { headers }: FastifyRequest,
  reply: FastifyReply,
  { sizeBytes, entityTag, close }: StoredFile,
): Promise<ByteRange | 'whole'> {
  // A range of another version must not be combined with cached parts.
  const isOfThisVersion = headers['if-range'] === undefined || headers['if-range'] === entityTag;
  const range = isOfThisVersion ? readByteRange(headers.range, sizeBytes) : 'whole';
  if (range !== 'beyond') return range;
  await close();
  reply.header('content-range', `bytes */${sizeBytes}`);
  throw new RangeNotSatisfiableError(sizeBytes);
}

/** Model output must never run as a page of this origin: it is downloaded, or shown as its media type. */
function describe(reply: FastifyReply, key: string, file: StoredFile, secondsLeft: number): void {
  const { contentType, fileName } = headOf(key);
  reply
    .header('content-type', contentType)
    .header('content-disposition', `attachment; filename="${fileName}"`)
    .header('content-security-policy', "default-src 'none'; sandbox")
    .header('x-content-type-options', 'nosniff')
    .header('cache-control', `private, max-age=${secondsLeft}`)
    .header('accept-ranges', 'bytes')
    .header('etag', file.entityTag);
}

async function sendPart(reply: FastifyReply, file: StoredFile, range: ByteRange | 'whole'): Promise<void> {
  const { sizeBytes } = file;
  if (range === 'whole') {
    await reply.header('content-length', sizeBytes).send(file.stream(0, sizeBytes - 1));
    return;
  }
  const { first, last } = range;
  await reply
    .code(206)
    .header('content-range', `bytes ${first}-${last}/${sizeBytes}`)
    .header('content-length', last - first + 1)
    .send(file.stream(first, last));
}
