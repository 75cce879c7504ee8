import type { Readable } from 'node:stream';
import type { S3Client, S3ClientConfig } from '@aws-sdk/client-s3';
import type { Clock } from '../time/clock';
import { contentTypeOf, headOf, isObjectKey, KEY_SEGMENTS, requireStoredKey } from './object-key';
import { type ObjectStorage, type SignedUrl, validForSeconds } from './object-storage';
import { storageUnavailable } from './storage-failure';

/** Small enough for the timeout on a slow connection; S3 requires at least 5 MiB. */
const PART_BYTES = 8 * 1024 * 1024;
/** Parallel parts of one upload; together with the part being filled they bound its memory. */
const PARTS_AT_ONCE = 2;

export interface S3Options {
  readonly bucket: string;
  readonly region: string;
  /** `null`: the AWS endpoint of the region. */
  readonly endpoint: string | null;
  /** The client-facing URL of the same server, if it differs from `endpoint`. */
  readonly publicEndpoint: string | null;
  readonly forcePathStyle: boolean;
  /** `null`: the credentials found by the AWS SDK, such as the role of the machine. */
  readonly credentials: { readonly accessKeyId: string; readonly secretAccessKey: string } | null;
  readonly signedUrlTtlSeconds: number;
  readonly timeouts?: S3Timeouts;
}

/** Milliseconds. */
export interface S3Timeouts {
  readonly connectMs: number;
  /** One request, body and answer, of at most {@link PART_BYTES}. */
  readonly requestMs: number;
  /** A whole put of a buffer, with all attempts; a stream has no total limit. */
  readonly putMs: number;
}

/** Attempts of the SDK, with its default pauses. */
const MAX_ATTEMPTS = 3;
const DEFAULT_TIMEOUTS: S3Timeouts = { connectMs: 2_000, requestMs: 15_000, putMs: 30_000 };

/** Objects in a bucket of S3 or of a server with the same API; clients fetch them there. */
export class S3Storage implements ObjectStorage {
  private constructor(
    private readonly sdk: Sdk,
    private readonly options: S3Options,
    private readonly client: S3Client,
    private readonly signer: S3Client,
    private readonly clock: Clock,
  ) {}

  /** Loads the SDK without connecting. */
  static async create(options: S3Options, clock: Clock): Promise<S3Storage> {
    const sdk = await loadSdk();
    const client = new sdk.S3Client(clientConfig(options, options.endpoint));
    const signer =
      options.publicEndpoint === null ? client : new sdk.S3Client(clientConfig(options, options.publicEndpoint));
    return new S3Storage(sdk, options, client, signer, clock);
  }

  async put(key: string, body: Buffer | Readable): Promise<{ sizeBytes: number }> {
    const { Upload } = this.sdk;
    const contentType = contentTypeOf(key);
    const upload = new Upload({
      client: this.client,
      params: { Bucket: this.options.bucket, Key: key, Body: body, ContentType: contentType },
      partSize: PART_BYTES,
      queueSize: PARTS_AT_ONCE,
    });
    let sizeBytes = 0;
    upload.on('httpUploadProgress', ({ loaded = 0 }) => {
      sizeBytes = Math.max(sizeBytes, loaded);
    });
    const timer = Buffer.isBuffer(body) ? setTimeout(() => void upload.abort(), this.timeouts.putMs) : undefined;
    try {
      await upload.done();
      return { sizeBytes };
    } catch (error) {
      if (Buffer.isBuffer(body)) throw storageUnavailable(error);
      // Not `error`: aborting the upload may have failed as well.
      if (body.errored !== null) throw body.errored;
      body.destroy();
      throw storageUnavailable(error);
    } finally {
      clearTimeout(timer);
    }
  }

  async read(key: string): Promise<Buffer | null> {
    try {
      const body = await this.fetch(key, AbortSignal.timeout(this.timeouts.putMs));
      return body === undefined ? null : Buffer.from(await body.transformToByteArray());
    } catch (error) {
      if (error instanceof this.sdk.NoSuchKey) return null;
      throw storageUnavailable(error);
    }
  }

  async open(key: string, signal: AbortSignal): Promise<Readable | null> {
    try {
      // In Node.js, the body of the SDK is a `Readable`.
      return ((await this.fetch(key, signal)) ?? null) as Readable | null;
    } catch (error) {
      if (error instanceof this.sdk.NoSuchKey) return null;
      throw storageUnavailable(error);
    }
  }

  private async fetch(key: string, abortSignal: AbortSignal) {
    const command = new this.sdk.GetObjectCommand({ Bucket: this.options.bucket, Key: requireStoredKey(key) });
    return (await this.client.send(command, { abortSignal })).Body;
  }

  async sign(key: string, keptUntil?: Date): Promise<SignedUrl> {
    const { contentType, fileName } = headOf(key);
    const nowSeconds = Math.floor(this.clock.now() / 1_000);
    const signingDate = new Date(nowSeconds * 1_000);
    const expiresIn = validForSeconds(this.options.signedUrlTtlSeconds, nowSeconds, keptUntil);
    const command = new this.sdk.GetObjectCommand({
      Bucket: this.options.bucket,
      Key: key,
      ResponseContentType: contentType,
      ResponseContentDisposition: `attachment; filename="${fileName}"`,
    });
    try {
      const url = await this.sdk.getSignedUrl(this.signer, command, { expiresIn, signingDate });
      return { url, expiresAt: new Date(signingDate.getTime() + expiresIn * 1_000) };
    } catch (error) {
      // Fetching role credentials may fail.
      throw storageUnavailable(error);
    }
  }

  keyOf(url: string): string | null {
    const parsed = URL.parse(url);
    if (parsed?.searchParams.has('X-Amz-Signature') !== true) return null;
    const key = parsed.pathname.split('/').slice(-KEY_SEGMENTS).join('/');
    const { bucket } = this.options;
    const namesBucket =
      parsed.pathname.endsWith(`/${bucket}/${key}`) ||
      (parsed.host.startsWith(`${bucket}.`) && parsed.pathname === `/${key}`);
    return namesBucket && isObjectKey(key) ? key : null;
  }

  async delete(key: string): Promise<void> {
    try {
      await this.client.send(
        new this.sdk.DeleteObjectCommand({ Bucket: this.options.bucket, Key: requireStoredKey(key) }),
      );
    } catch (error) {
      throw storageUnavailable(error);
    }
  }

  close(): void {
    this.client.destroy();
    this.signer.destroy();
  }

  private get timeouts(): S3Timeouts {
    return this.options.timeouts ?? DEFAULT_TIMEOUTS;
  }
}

type Sdk = Awaited<ReturnType<typeof loadSdk>>;

/** Loading takes a sixth of a second, so it happens only with a configured bucket. */
async function loadSdk() {
  const [{ S3Client, GetObjectCommand, DeleteObjectCommand, NoSuchKey }, { Upload }, { getSignedUrl }] =
    await Promise.all([
      import('@aws-sdk/client-s3'),
      import('@aws-sdk/lib-storage'),
      import('@aws-sdk/s3-request-presigner'),
    ]);
  return { S3Client, GetObjectCommand, DeleteObjectCommand, NoSuchKey, Upload, getSignedUrl };
}

function clientConfig(options: S3Options, endpoint: string | null): S3ClientConfig {
  const { connectMs, requestMs } = options.timeouts ?? DEFAULT_TIMEOUTS;
  return {
    region: options.region,
    ...(endpoint !== null && { endpoint }),
    forcePathStyle: options.forcePathStyle,
    // A copy: the SDK writes into it, and settings are frozen.
    ...(options.credentials !== null && { credentials: { ...options.credentials } }),
    maxAttempts: MAX_ATTEMPTS,
    requestHandler: {
      connectionTimeout: connectMs,
      requestTimeout: requestMs,
      throwOnRequestTimeout: true,
    },
    // Many non-AWS servers refuse checksums in trailers and response modes.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
  };
}
