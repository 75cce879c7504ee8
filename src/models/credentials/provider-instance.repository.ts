import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import type { ProviderInstance } from '../../core/config/provider-instances';
import { ProviderInstanceEntity } from '../../core/database/entities/provider-instance.entity';
import { lockUntilCommit } from '../../core/database/transaction-lock';
import { type ResealSummary, resealTable } from '../../core/secrets/reseal';
import { SecretBox } from '../../core/secrets/secret-box';

/** Provider instances as operators store them: module, base URL and keys sealed together. */
@Injectable()
export class ProviderInstanceRepository {
  constructor(
    private readonly dataSource: DataSource,
    private readonly box: SecretBox,
  ) {}

  /** All instances by id: a few rows. */
  async list(): Promise<ProviderInstanceEntity[]> {
    const rows = await this.dataSource.manager.find(ProviderInstanceEntity);
    // Not by the collation of the database: resealing compares ids.
    return rows.toSorted((one, next) => (one.id < next.id ? -1 : 1));
  }

  /** Locks the row, or its absence, until the end of the transaction. */
  async lock(manager: EntityManager, id: string): Promise<ProviderInstanceEntity | null> {
    await lockUntilCommit(manager, `provider instance ${id}`);
    return manager.findOne(ProviderInstanceEntity, { where: { id }, lock: { mode: 'pessimistic_write' } });
  }

  async put(manager: EntityManager, instance: ProviderInstance): Promise<ProviderInstanceEntity> {
    const { id } = instance;
    await manager.query(
      `INSERT INTO provider_instance (id, sealed) VALUES ($1, $2)
       ON CONFLICT (id) DO UPDATE SET sealed = excluded.sealed, updated_at = clock_timestamp()`,
      [id, this.box.seal(JSON.stringify(instance), purposeOf(id))],
    );
    return manager.findOneByOrFail(ProviderInstanceEntity, { id });
  }

  async remove(manager: EntityManager, id: string): Promise<void> {
    await manager.delete(ProviderInstanceEntity, { id });
  }

  /** `null`: the key that it is sealed with is not in `SECRETS_KEY`, or the row was modified. */
  unseal({ id, sealed }: ProviderInstanceEntity): ProviderInstance | null {
    try {
      return JSON.parse(this.box.unseal(sealed, purposeOf(id))) as ProviderInstance;
    } catch {
      return null;
    }
  }

  /** Seals all instances with the first key of `SECRETS_KEY`. */
  reseal(): Promise<ResealSummary> {
    const table = {
      purposeOf,
      // Returns all rows at once.
      next: async (afterId: string) => (await this.list()).filter(({ id }) => id > afterId),
      replace: async ({ id, sealed }: { id: string; sealed: string }, resealed: string) => {
        await this.dataSource.manager.update(ProviderInstanceEntity, { id, sealed }, { sealed: resealed });
      },
    };
    return resealTable(table, this.box);
  }
}

/** Binds the values to the id: the keys of one instance must not move to the address of another. */
function purposeOf(id: string): string {
  return `provider instance ${id}`;
}
