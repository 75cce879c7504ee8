import type { Readable } from 'node:stream';
import { Inject, Injectable } from '@nestjs/common';
import { GatewayError } from '../common/errors/gateway-error';
import { APP_CONFIG, type AppConfig } from '../config/app-config';
import { type ObjectOwner, toObjectKey } from './object-key';
import { OBJECT_STORAGE, type ObjectStorage, type SignedUrl } from './object-storage';
import { storageUnavailable } from './storage-failure';
import { StoredObjectRepository } from './stored-object.repository';

/** Deletions under way at once. */
const DELETIONS_AT_ONCE = 10;

export interface ObjectToStore extends ObjectOwner {
  /** Counted from 0. The same owner and index again overwrite, so that a repeated step stores nothing twice. */
  readonly index: number;
  readonly contentType: string;
  readonly body: Buffer | Readable;
}

export interface StoredObject {
  readonly key: string;
  readonly sizeBytes: number;
}

export interface Deletions {
  readonly deleted: number;
  readonly failures: readonly unknown[];
}

/** Outputs that are kept for a while: stored under keys, handed out as signed addresses, deleted when their time is over. */
@Injectable()
export class StoredObjects {
  constructor(
    @Inject(OBJECT_STORAGE) private readonly storage: ObjectStorage | null,
    private readonly repository: StoredObjectRepository,
    @Inject(APP_CONFIG) private readonly config: Pick<AppConfig, 'storage'>,
  ) {}

  /** Whether the operator has configured a storage. Without one `store` and `sign` refuse. */
  get isConfigured(): boolean {
    return this.storage !== null;
  }

  /**
   * Resolves when the object is durable.
   * @throws GatewayError `not_configured`, `service_unavailable`; or what a stream failed with.
   */
  async store({ body, index, contentType, ...owner }: ObjectToStore): Promise<StoredObject> {
    const storage = this.requireStorage();
    const key = toObjectKey(owner, index, contentType);
    const known = Buffer.isBuffer(body) ? body.length : null;
    const retentionHours = this.config.storage.retentionHours[owner.kind];
    const announced = await inDatabase(this.repository.announce({ ...owner, key, sizeBytes: known, retentionHours }));
    if (!announced) throw new Error(`The time of ${key} is over: it cannot be stored again`);
    const { sizeBytes } = await storage.put(key, body);
    if (known === null && !(await inDatabase(this.repository.recordSize(key, sizeBytes)))) {
      // A stream takes its time. Whoever has deleted this one meanwhile came too early for it, and will not come again.
      await storage.delete(key);
      throw new Error(`${key} was deleted while it was stored`);
    }
    return { key, sizeBytes };
  }

  /** `null`: it is not there any more. @throws GatewayError `not_configured`, `service_unavailable`. */
  read(key: string): Promise<Buffer | null> {
    return this.requireStorage().read(key);
  }

  /** A fresh address, whether or not there is anything. @throws GatewayError `not_configured`, `service_unavailable`. */
  sign(key: string): Promise<SignedUrl> {
    return this.requireStorage().sign(key);
  }

  /** The key in an address that was signed here, expired or not; `null` for any other. */
  keyOf(url: string): string | null {
    return this.storage?.keyOf(url) ?? null;
  }

  /**
   * Deletes all outputs of a request or job, now as far as the storage can be reached, and the rest with a later sweep.
   * @throws GatewayError `service_unavailable` when the database cannot be reached; then nothing is deleted.
   */
  async deleteAll(owner: ObjectOwner): Promise<void> {
    const keys = await inDatabase(this.repository.claimOf(owner));
    if (this.storage !== null) await this.deleteClaimed(keys);
  }

  /**
   * Deletes objects that this caller has claimed, each before its row. What fails is left to whoever claims it next; when
   * ten at once fail the rest is not tried, since the storage is away.
   */
  async deleteClaimed(keys: readonly string[]): Promise<Deletions> {
    const storage = this.requireStorage();
    const failures: unknown[] = [];
    let deleted = 0;
    for (let start = 0; start < keys.length; start += DELETIONS_AT_ONCE) {
      const some = keys.slice(start, start + DELETIONS_AT_ONCE);
      const outcomes = await Promise.allSettled(some.map((key) => storage.delete(key)));
      const gone = some.filter((_, index) => outcomes[index]?.status === 'fulfilled');
      for (const outcome of outcomes) if (outcome.status === 'rejected') failures.push(outcome.reason);
      if (gone.length === 0) break;
      await inDatabase(this.repository.forget(gone));
      deleted += gone.length;
    }
    return { deleted, failures };
  }

  private requireStorage(): ObjectStorage {
    if (this.storage === null) {
      throw new GatewayError('not_configured', 'This deployment has no object storage.');
    }
    return this.storage;
  }
}

async function inDatabase<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    throw storageUnavailable(error);
  }
}
