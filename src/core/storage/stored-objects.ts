import type { Readable } from 'node:stream';
import { Inject, Injectable, Logger } from '@nestjs/common';
import { GatewayError } from '../errors/gateway-error';
import { Metrics } from '../observability/metrics/catalogue';
import { APP_CONFIG, type AppConfig } from '../config/app-config';
import { inStep, type RequestTrace, type StepFacts } from '../types/trace';
import { type ObjectOwner, toObjectKey } from './object-key';
import { OBJECT_STORAGE, type ObjectStorage, type SignedUrl } from './object-storage';
import { storageUnavailable } from './storage-failure';
import { StoredObjectRepository } from './stored-object.repository';

/** Parallel deletions. */
const DELETIONS_AT_ONCE = 10;

export interface ObjectToStore extends ObjectOwner {
  /** Counted from 0. Storing the same owner and index again overwrites, so a repeated step stores no duplicate. */
  readonly index: number;
  readonly contentType: string;
  readonly body: Buffer | Readable;
  /** Gets a span for the upload. */
  readonly trace?: RequestTrace | null;
}

export interface StoredObject {
  readonly key: string;
  readonly sizeBytes: number;
}

const STORE_FACTS: StepFacts<StoredObject> = { done: ({ sizeBytes }) => ({ 'gateway.bytes': sizeBytes }) };
const READ_FACTS: StepFacts<Buffer | null> = { done: (bytes) => ({ 'gateway.bytes': bytes?.length }) };

export interface Deletions {
  readonly deleted: number;
  readonly failures: readonly unknown[];
}

/** Outputs with limited retention: stored under keys, served by signed URLs, deleted after expiry. */
@Injectable()
export class StoredObjects {
  private readonly logger = new Logger(StoredObjects.name);
  /** Causes of failures since the last stored object. Other calls can succeed meanwhile, as on a full disk. */
  private readonly outage = new Set<string>();

  constructor(
    @Inject(OBJECT_STORAGE) private readonly storage: ObjectStorage | null,
    private readonly repository: StoredObjectRepository,
    @Inject(APP_CONFIG) private readonly config: Pick<AppConfig, 'storage'>,
    private readonly metrics: Metrics,
  ) {}

  /** Whether a storage is configured. Without one `store` and `sign` refuse. */
  get isConfigured(): boolean {
    return this.storage !== null;
  }

  /**
   * Resolves when the object is durable.
   * @throws GatewayError `not_configured`, `service_unavailable`; or the error of a stream.
   */
  store(object: ObjectToStore): Promise<StoredObject> {
    return inStep(object.trace, 'store object', () => this.upload(object), STORE_FACTS);
  }

  private async upload({ body, index, contentType, trace: _trace, ...owner }: ObjectToStore): Promise<StoredObject> {
    const storage = this.requireStorage();
    const key = toObjectKey(owner, index, contentType);
    const known = Buffer.isBuffer(body) ? body.length : null;
    const retentionHours = this.config.storage.retentionHours[owner.kind];
    const announced = await inDatabase(this.repository.announce({ ...owner, key, sizeBytes: known, retentionHours }));
    if (!announced) throw new Error(`${key} has expired and cannot be stored again`);
    const { sizeBytes } = await this.counted('put', storage.put(key, body));
    if (known === null && !(await inDatabase(this.repository.recordSize(key, sizeBytes)))) {
      // A concurrent deletion during the stream missed this object and is not repeated, so delete it here.
      await this.counted('delete', storage.delete(key));
      throw new Error(`${key} was deleted while it was stored`);
    }
    return { key, sizeBytes };
  }

  /** `null`: the object no longer exists. @throws GatewayError `not_configured`, `service_unavailable`. */
  read(key: string, trace?: RequestTrace | null): Promise<Buffer | null> {
    return inStep(trace, 'read object', () => this.counted('read', this.requireStorage().read(key)), READ_FACTS);
  }

  /** A fresh URL, without an existence check. @throws GatewayError `not_configured`, `service_unavailable`. */
  sign(key: string, keptUntil?: Date): Promise<SignedUrl> {
    return this.counted('sign', this.requireStorage().sign(key, keptUntil));
  }

  /** The key of a URL signed here, expired or not; `null` for any other. */
  keyOf(url: string): string | null {
    return this.storage?.keyOf(url) ?? null;
  }

  /** Total size of all objects of an owner. @throws GatewayError `service_unavailable` */
  storedBytes(owner: ObjectOwner): Promise<number> {
    return inDatabase(this.repository.storedBytes(owner));
  }

  /**
   * Deletes all outputs of a request or job immediately if possible, the rest in a later sweep.
   * @throws GatewayError `service_unavailable` when the database cannot be reached; then nothing is deleted.
   */
  async deleteAll(owner: ObjectOwner): Promise<void> {
    const keys = await inDatabase(this.repository.claimOf(owner));
    if (this.storage !== null) await this.deleteClaimed(keys);
  }

  /**
   * Deletes claimed objects, each before its row. Failed deletions wait for the next claim; when ten at once fail, the
   * rest is skipped because the storage is unavailable.
   */
  async deleteClaimed(keys: readonly string[]): Promise<Deletions> {
    const storage = this.requireStorage();
    const failures: unknown[] = [];
    let deleted = 0;
    for (let start = 0; start < keys.length; start += DELETIONS_AT_ONCE) {
      const some = keys.slice(start, start + DELETIONS_AT_ONCE);
      const outcomes = await Promise.allSettled(some.map((key) => this.counted('delete', storage.delete(key))));
      const gone = some.filter((_, index) => outcomes[index]?.status === 'fulfilled');
      for (const outcome of outcomes) if (outcome.status === 'rejected') failures.push(outcome.reason);
      if (gone.length === 0) break;
      await inDatabase(this.repository.forget(gone));
      deleted += gone.length;
    }
    return { deleted, failures };
  }

  /** Only `service_unavailable` means that the storage is unavailable: an upload may also fail with its source. */
  private async counted<Result>(operation: 'put' | 'read' | 'sign' | 'delete', call: Promise<Result>): Promise<Result> {
    const { storageCalls, dependencyUp } = this.metrics;
    try {
      const result = await call;
      storageCalls.of(operation, 'ok').inc();
      dependencyUp.of('storage').set(1);
      if (operation === 'put') this.reportBack();
      return result;
    } catch (error) {
      storageCalls.of(operation, 'failed').inc();
      if (error instanceof GatewayError && error.code === 'service_unavailable') {
        dependencyUp.of('storage').set(0);
        if (operation === 'put') this.reportOutage(error.cause);
      }
      throw error;
    }
  }

  /** Logs each cause once per outage: clients only learn that outputs cannot be stored, not why. */
  private reportOutage(cause: unknown): void {
    const kind = kindOfFailure(cause);
    if (this.outage.has(kind)) return;
    this.outage.add(kind);
    this.logger.error({ event: 'storage_unavailable', message: `object storage is unavailable: ${String(cause)}` });
  }

  private reportBack(): void {
    if (this.outage.size === 0) return;
    this.outage.clear();
    this.logger.warn({ event: 'storage_available', message: 'object storage is available again' });
  }

  private requireStorage(): ObjectStorage {
    if (this.storage === null) {
      throw new GatewayError('not_configured', 'This deployment has no object storage.');
    }
    return this.storage;
  }
}

/** The kind of a failure without its message, which contains the file or URL and so differs between objects. */
function kindOfFailure(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  return 'code' in cause ? String(cause.code) : cause.name;
}

async function inDatabase<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    throw storageUnavailable(error);
  }
}
