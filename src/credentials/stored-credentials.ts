import { Inject, Injectable, Logger, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { PeriodicTask } from '../common/periodic-task';
import { SecretBox } from '../common/secret-box';
import { ProvidersService } from '../providers/providers.service';
import { RedisSubscription } from '../redis/redis-subscription';
import { REDIS } from '../redis/redis.module';
import { CREDENTIAL_CHANGE_CHANNEL } from './credential-change';
import { CredentialRepository } from './credential.repository';
import { openCredential } from './credential.service';

/** How soon a change is noticed whose message was lost. */
const POLL_MS = 5_000;

/**
 * Keeps the providers of this process at what is stored: at the start, when told of a change, and every few seconds.
 * What cannot be opened stops nothing: the provider does with what the environment has for it, and the log says so.
 */
@Injectable()
export class StoredCredentials implements OnModuleInit, OnApplicationShutdown {
  private readonly logger = new Logger(StoredCredentials.name);
  private readonly subscription: RedisSubscription;
  private readonly poll: PeriodicTask;
  private unreadable: ReadonlySet<string> = new Set();
  private current: Promise<void> = Promise.resolve();

  constructor(
    private readonly repository: CredentialRepository,
    private readonly box: SecretBox,
    private readonly providers: ProvidersService,
    @Inject(REDIS) redis: Redis,
  ) {
    const refresh = (): void => void this.refresh();
    this.subscription = new RedisSubscription(redis, CREDENTIAL_CHANGE_CHANNEL, {
      onMessage: refresh,
      onListening: refresh,
    });
    this.poll = new PeriodicTask({
      run: () => this.apply(),
      onError: (error) => this.logger.warn({ message: 'the stored credentials could not be read', err: error }),
      pauseMs: () => POLL_MS,
    });
  }

  /** Resolves when the providers have what is stored, or it could not be read for now. */
  async onModuleInit(): Promise<void> {
    await this.poll.start();
    this.subscription.start();
  }

  async onApplicationShutdown(): Promise<void> {
    this.subscription.stop();
    await this.poll.stop();
    await this.current;
  }

  /** Takes over what is stored now. Never rejects: when it cannot be read, everything stays as it is. */
  async refresh(): Promise<void> {
    await this.apply().catch((error: unknown) => {
      this.logger.warn({ message: 'the stored credentials could not be read', err: error });
    });
  }

  /** One after the other, so that an older answer cannot come last. */
  private apply(): Promise<void> {
    const next = this.current.then(() => this.read());
    this.current = next.catch(() => undefined);
    return next;
  }

  private async read(): Promise<void> {
    const stored: Record<string, string> = {};
    const unreadable = new Set<string>();
    for (const row of await this.repository.list()) {
      const value = openCredential(this.box, row);
      if (value === null) unreadable.add(row.name);
      else stored[row.name] = value;
    }
    for (const name of unreadable) {
      if (this.unreadable.has(name)) continue;
      const message = 'a stored credential cannot be opened with SECRETS_KEY and is not used';
      this.logger.error({ message, credential: name });
    }
    this.unreadable = unreadable;
    await this.providers.use(stored);
  }
}
