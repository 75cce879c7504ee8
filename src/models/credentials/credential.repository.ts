import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { ProviderCredentialEntity } from '../../core/database/entities/provider-credential.entity';

/** Sealed credentials. */
@Injectable()
export class CredentialRepository {
  constructor(private readonly dataSource: DataSource) {}

  /** All credentials by name: a few rows. */
  list(): Promise<ProviderCredentialEntity[]> {
    return this.dataSource.manager.find(ProviderCredentialEntity, { order: { name: 'ASC' } });
  }

  find(manager: EntityManager, name: string): Promise<ProviderCredentialEntity | null> {
    return manager.findOneBy(ProviderCredentialEntity, { name });
  }

  async put(manager: EntityManager, credential: Omit<ProviderCredentialEntity, 'updatedAt'>): Promise<void> {
    const { name, sealed, last4 } = credential;
    await manager.query(
      `INSERT INTO provider_credential (name, sealed, last4) VALUES ($1, $2, $3)
       ON CONFLICT (name) DO UPDATE SET sealed = excluded.sealed, last4 = excluded.last4, updated_at = clock_timestamp()`,
      [name, sealed, last4],
    );
  }

  async remove(manager: EntityManager, name: string): Promise<void> {
    await manager.delete(ProviderCredentialEntity, { name });
  }

  async replaceSealed(name: string, sealed: string, resealed: string): Promise<void> {
    await this.dataSource.query('UPDATE provider_credential SET sealed = $3 WHERE name = $1 AND sealed = $2', [
      name,
      sealed,
      resealed,
    ]);
  }
}
