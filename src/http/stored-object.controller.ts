import { Readable } from 'node:stream';
import { Controller, Get, Inject, Param, Query, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { GatewayError } from '../common/errors/gateway-error';
import { LocalStorage, type StoredFile } from '../storage/local-storage';
import { headOf } from '../storage/object-key';
import { OBJECT_STORAGE, type ObjectStorage } from '../storage/object-storage';
import { type ByteRange, readByteRange } from './byte-range';
import { PublicRoute } from './public-route.decorator';

/**
 * Hands out what `LocalStorage` keeps. The address itself is the permission: whoever has it may fetch, until it expires. A
 * wrong signature, an address past its time and an object that is gone look alike, and the first two touch no file.
 */
@Controller('v1/objects')
export class StoredObjectController {
  private readonly storage: LocalStorage | null;

  constructor(@Inject(OBJECT_STORAGE) storage: ObjectStorage | null) {
    this.storage = storage instanceof LocalStorage ? storage : null;
  }

  /** Keys hold slashes, hence the wildcard. Fastify answers HEAD from here too. */
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
    if (file == null) throw new GatewayError('not_found', 'There is nothing at this address, or its time is over.');
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

/** @throws GatewayError `validation_failed` with the size in `Content-Range`. */
async function requireRange(
  { headers }: FastifyRequest,
  reply: FastifyReply,
  { sizeBytes, entityTag, close }: StoredFile,
): Promise<ByteRange | 'whole'> {
  // A part of an older version is of no use to somebody who has the rest of it.
  const isOfThisVersion = headers['if-range'] === undefined || headers['if-range'] === entityTag;
  const range = isOfThisVersion ? readByteRange(headers.range, sizeBytes) : 'whole';
  if (range !== 'beyond') return range;
  await close();
  reply.header('content-range', `bytes */${sizeBytes}`);
  throw new GatewayError('validation_failed', `The object has only ${sizeBytes} bytes.`, { param: 'Range' });
}

/** A page of this origin must not come to life from what a model has made: it is saved, or shown as what it is. */
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
