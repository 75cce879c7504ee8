import { Readable } from 'node:stream';
import { Controller, Get, Inject, Param, Query, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { type Answer, Bytes } from '../core/http/answer';
import { GatewayError } from '../core/errors/gateway-error';
import { LocalStorage, type StoredFile } from '../core/storage/local-storage';
import { headOf } from '../core/storage/object-key';
import { OBJECT_STORAGE, type ObjectStorage } from '../core/storage/object-storage';
import { type ByteRange, readByteRange } from '../core/http/byte-range';
import { isKnown } from '../core/http/entity-tag';
import { Public } from '../core/http/route.decorators';

/**
 * Serves the objects of `LocalStorage`. A signed URL grants access until it expires. A wrong signature, an expired URL
 * and a missing object return the same error, and the first two touch no file.
 */
@Controller('v1/objects')
export class StoredObjectController {
  private readonly storage: LocalStorage | null;

  constructor(@Inject(OBJECT_STORAGE) storage: ObjectStorage | null) {
    this.storage = storage instanceof LocalStorage ? storage : null;
  }

  /** Object keys contain slashes, hence the wildcard. Fastify serves HEAD from this handler too. */
  @Get('*')
  @Public()
  async getStoredObject(
    @Param('*') key: string,
    @Query('expires') expires: unknown,
    @Query('signature') signature: unknown,
    @Req() { method, headers }: FastifyRequest,
  ): Promise<Answer> {
    const secondsLeft = this.storage?.secondsLeft(key, expires, signature) ?? 0;
    const file = secondsLeft > 0 ? await this.storage?.openFile(key) : null;
    if (file == null) throw new GatewayError('not_found', 'The object does not exist, or the URL has expired.');
    const { sizeBytes } = file;
    const about = describe(key, file, secondsLeft);
    const { contentType } = headOf(key);
    if (isKnown({ headers }, file.entityTag)) {
      await file.close();
      // Without a body, Fastify would answer HEAD with a length of zero.
      return new Bytes(Readable.from([]), null, { status: 304, headers: about });
    }
    if (method === 'HEAD') {
      await file.close();
      // Any other body would make Fastify count its bytes.
      return new Bytes(Readable.from([]), contentType, { headers: { ...about, 'content-length': sizeBytes } });
    }
    const range = await requireRange(headers, file);
    if (range === 'whole') {
      const content = file.stream(0, sizeBytes - 1);
      return new Bytes(content, contentType, { headers: { ...about, 'content-length': sizeBytes } });
    }
    const { first, last } = range;
    return new Bytes(file.stream(first, last), contentType, {
      status: 206,
      headers: {
        ...about,
        'content-range': `bytes ${first}-${last}/${sizeBytes}`,
        'content-length': last - first + 1,
      },
    });
  }
}

/** A 416, which clients of ranges expect (RFC 9110 section 15.5.17), with an error code of the contract. */
class RangeNotSatisfiableError extends GatewayError {
  constructor(private readonly sizeBytes: number) {
    super('validation_failed', `The object has only ${sizeBytes} bytes.`, { param: 'Range' });
  }

  override get status(): number {
    return 416;
  }

  override get headers(): Readonly<Record<string, string>> {
    return { 'content-range': `bytes */${this.sizeBytes}` };
  }
}

/** @throws RangeNotSatisfiableError */
async function requireRange(
  headers: FastifyRequest['headers'],
  { sizeBytes, entityTag, close }: StoredFile,
): Promise<ByteRange | 'whole'> {
  // A client must not combine a range of this version with cached parts of another.
  const isOfThisVersion = headers['if-range'] === undefined || headers['if-range'] === entityTag;
  const range = isOfThisVersion ? readByteRange(headers.range, sizeBytes) : 'whole';
  if (range !== 'beyond') return range;
  await close();
  throw new RangeNotSatisfiableError(sizeBytes);
}

/** Model output must never run as a page of this origin: it is downloaded, or shown as its media type. */
function describe(key: string, file: StoredFile, secondsLeft: number): Readonly<Record<string, string>> {
  return {
    'content-disposition': `attachment; filename="${headOf(key).fileName}"`,
    'content-security-policy': "default-src 'none'; sandbox",
    'x-content-type-options': 'nosniff',
    'cache-control': `private, max-age=${secondsLeft}`,
    'accept-ranges': 'bytes',
    etag: file.entityTag,
  };
}
