/**
 * Embedded PostgreSQL and Redis. The rest of the gateway only sees two URLs. One process owns a data directory at a
 * time and is named in `<dataDir>/services.json`.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { ConfigurationError } from '../config/load-config';
import { startEmbeddedPostgres } from './embedded-postgres';
import { startEmbeddedRedis } from './embedded-redis';
import { loadOrCreateSecrets } from '../secrets/service-secrets';
import { DataDirectoryInUseError, readLiveServices, ServicesFile } from './services-file';
import type { EmbeddedServer } from './supervised-process';

/** The relevant configuration; `null` requests an embedded server. */
export interface EmbeddedServicesSettings {
  /** Absolute path. */
  readonly dataDir: string;
  readonly databaseUrl: string | null;
  readonly redisUrl: string | null;
}

export interface RunningServices {
  readonly databaseUrl: string;
  readonly redisUrl: string;
  /** Stops only the servers started here. Call it after all connections are closed. */
  stop(): Promise<void>;
}

const POLL_MS = 50;

/**
 * Starts the servers that are not configured, for the life of this process. Resolves when they answer.
 *
 * @throws DataDirectoryInUseError when another gateway runs on this data directory
 */
export async function startEmbeddedServices(
  settings: EmbeddedServicesSettings,
  logger: Logger,
): Promise<RunningServices> {
  return start(settings, logger, false);
}

/**
 * For commands: uses the services of the gateway that runs on this data directory, else starts them for the duration of
 * the command.
 */
export async function attachEmbeddedServices(
  settings: EmbeddedServicesSettings,
  logger: Logger,
): Promise<RunningServices> {
  for (;;) {
    const live = readLiveServices(settings.dataDir);
    if (live?.ready && !live.temporary) {
      return {
        databaseUrl: requireUrl('DATABASE_URL', settings.databaseUrl ?? live.databaseUrl, live.ownerPid),
        redisUrl: requireUrl('REDIS_URL', settings.redisUrl ?? live.redisUrl, live.ownerPid),
        stop: async () => undefined,
      };
    }
    try {
      return await start(settings, logger, true);
    } catch (error) {
      // A gateway is starting: wait until its services answer or it has ended.
      if (!(error instanceof DataDirectoryInUseError)) {
        throw error;
      }
      await delay(POLL_MS);
    }
  }
}

async function start(settings: EmbeddedServicesSettings, logger: Logger, temporary: boolean): Promise<RunningServices> {
  const { dataDir, databaseUrl, redisUrl } = settings;
  if (databaseUrl !== null && redisUrl !== null) {
    return { databaseUrl, redisUrl, stop: async () => undefined };
  }
  const file = await ServicesFile.claim(dataDir, temporary);
  const started: EmbeddedServer[] = [];
  const stop = async () => {
    await Promise.all(started.map((server) => server.stop()));
    file.release();
  };
  const track = (server: EmbeddedServer) => {
    started.push(server);
    return server.url;
  };
  const onPostgres = (postgresPid: number) => file.update({ postgresPid });
  const onRedis = (redisPid: number) => file.update({ redisPid });
  try {
    const { postgresPassword, redisPassword } = loadOrCreateSecrets(dataDir);
    const starting = [
      databaseUrl ??
        startEmbeddedPostgres({ dataDir, password: postgresPassword, onLaunch: onPostgres }, logger).then(track),
      redisUrl ?? startEmbeddedRedis({ dataDir, password: redisPassword, onLaunch: onRedis }, logger).then(track),
    ] as const;
    // Wait for both, otherwise a failure of one would leave the other running.
    await Promise.allSettled(starting);
    const urls = { databaseUrl: await starting[0], redisUrl: await starting[1] };
    file.update({
      ready: true,
      databaseUrl: databaseUrl === null ? urls.databaseUrl : null,
      redisUrl: redisUrl === null ? urls.redisUrl : null,
    });
    return { ...urls, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

function requireUrl(name: string, url: string | null, ownerPid: number): string {
  if (url === null) {
    throw new ConfigurationError([
      `The running gateway (process ${ownerPid}) uses a different ${name}; set the same one here.`,
    ]);
  }
  return url;
}
