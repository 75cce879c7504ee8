import { Inject, Injectable, Logger, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { Cron } from '@nestjs/schedule';
import type { RedisClient } from '../../core/redis/redis-client';
import { EVERY_5_SECONDS, scheduled } from '../../core/scheduling/scheduling.module';
import { SecretBox } from '../../core/secrets/secret-box';
import { ProvidersService } from '../../providers/providers.service';
import { RedisSubscription } from '../../core/redis/redis-subscription';
import { REDIS } from '../../core/redis/redis.module';
import type { ProviderInstance } from '../../core/config/provider-instances';
import { CredentialRepository } from './credential.repository';
import { openCredential } from './sealed-credential';
import { ProviderInstanceRepository } from './provider-instance.repository';

const CREDENTIAL_CHANGE_CHANNEL = 'gateway:credentials';

/**
 * Makes every process reload the stored credentials. Call it after the change is committed. Never rejects: without
 * Redis the next poll notices the change within five seconds.
 */
export async function publishCredentialChange(transport: {
  publish(channel: string, message: string): Promise<unknown>;
}): Promise<void> {
  await transport.publish(CREDENTIAL_CHANGE_CHANNEL, 'changed').catch(() => undefined);
}

/**
 * Applies the stored credentials to the providers of this process: at startup, on change messages, and every few
 * seconds. A value that cannot be decrypted is logged, and the environment applies instead.
 */
@Injectable()
export class StoredCredentials implements OnModuleInit, OnApplicationShutdown {
  private readonly logger = new Logger(StoredCredentials.name);
  private readonly subscription: RedisSubscription;
  private unreadable: ReadonlySet<string> = new Set();
  private current: Promise<void> = Promise.resolve();

  constructor(
    private readonly repository: CredentialRepository,
    private readonly instances: ProviderInstanceRepository,
    private readonly box: SecretBox,
    private readonly providers: ProvidersService,
    @Inject(REDIS) redis: RedisClient,
  ) {
    const refresh = (): void => void this.refresh();
    this.subscription = new RedisSubscription(redis, CREDENTIAL_CHANGE_CHANNEL, {
      onMessage: refresh,
      onListening: refresh,
    });
  }

  /** Resolves when the stored credentials are applied, or could not be read. */
  async onModuleInit(): Promise<void> {
    await this.refresh();
    this.subscription.start();
  }

  async onApplicationShutdown(): Promise<void> {
    this.subscription.stop();
    await this.current;
  }

  /**
   * Applies the stored credentials, also when a change message was lost. Never rejects: when they cannot be read,
   * nothing changes.
   */
  @Cron(EVERY_5_SECONDS, scheduled('credentials'))
  async refresh(): Promise<void> {
    await this.apply().catch((error: unknown) => {
      this.logger.warn({
        event: 'credentials_read_failed',
        message: 'the stored credentials could not be read',
        err: error,
      });
    });
  }

  /** Runs one at a time, so that an older result cannot overwrite a newer one. */
  private apply(): Promise<void> {
    const next = this.current.then(() => this.read());
    this.current = next.catch(() => undefined);
    return next;
  }

  private async read(): Promise<void> {
    const credentials: Record<string, string> = {};
    const instances: ProviderInstance[] = [];
    const unreadable = new Set<string>();
    for (const row of await this.repository.list()) {
      const value = openCredential(this.box, row);
      if (value === null) unreadable.add(row.name);
      else credentials[row.name] = value;
    }
    for (const row of await this.instances.list()) {
      const instance = this.instances.unseal(row);
      if (instance === null) unreadable.add(row.id);
      else instances.push(instance);
    }
    for (const name of unreadable) {
      if (this.unreadable.has(name)) continue;
      const message = 'a stored credential cannot be decrypted with SECRETS_KEY and is not used';
      this.logger.error({ event: 'credential_unreadable', message, credential: name });
    }
    this.unreadable = unreadable;
    await this.providers.use({ credentials, instances });
  }
}

/** Makes a change of stored credentials or instances take effect: in this process at once, in others on the message. */
@Injectable()
export class CredentialAnnouncer {
  constructor(
    private readonly stored: StoredCredentials,
    @Inject(REDIS) private readonly redis: RedisClient,
  ) {}

  /** Never rejects. */
  async announce(): Promise<void> {
    await this.stored.refresh();
    await publishCredentialChange(this.redis);
  }
}
