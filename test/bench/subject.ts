import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { startServerScript } from '#bench/children';
import type { MeteredProcess } from '#bench/cpu';
import { embeddedServices, type Gateway, startGateway } from '#bench/gateway';
import type { BenchOptions } from '#bench/options';
import type { Target } from '#bench/measure';
import { startPostgres, startRedis } from '#bench/servers';

/** The program compared with the forwarder, and its servers. */
export type Subject = { readonly target: Target } & (
  | {
      readonly gateway: Gateway;
      readonly databaseUrl: string;
      readonly processes: readonly MeteredProcess[];
      /** Names of these servers. */
      readonly services: { readonly postgres: string; readonly redis: string };
    }
  | {
      readonly gateway: null;
      readonly processes: readonly MeteredProcess[];
      readonly services: { readonly postgres: 'none'; readonly redis: 'none' };
    }
);

/** The gateway with its servers; for a self-check a second forwarder instead. */
export async function startSubject(options: BenchOptions, directory: string, upstreamOrigin: string): Promise<Subject> {
  if (options.selfCheck) return startSecondForwarder(upstreamOrigin);
  return startGatewayWithServers(options.embedded, directory, upstreamOrigin);
}

async function startSecondForwarder(upstreamOrigin: string): Promise<Subject> {
  const forwarder = await startServerScript('forwarder.ts', [upstreamOrigin]);
  return {
    target: { name: 'second forwarder', headers: {}, expectedText: '', ...forwarder },
    gateway: null,
    processes: [],
    services: { postgres: 'none', redis: 'none' },
  };
}

async function startGatewayWithServers(
  embeddedOnly: boolean,
  directory: string,
  upstreamOrigin: string,
): Promise<Subject> {
  const postgres = embeddedOnly ? null : await startPostgres(directory);
  const redis = embeddedOnly ? null : await startRedis(directory);
  const gatewayDirectory = join(directory, 'gateway');
  mkdirSync(gatewayDirectory);
  const gateway = await startGateway({
    directory: gatewayDirectory,
    upstreamOrigin,
    databaseUrl: postgres?.url ?? null,
    redisUrl: redis?.url ?? null,
  });
  const embedded = embeddedServices(gatewayDirectory);
  const databaseUrl = postgres?.url ?? embedded.databaseUrl;
  if (databaseUrl === null) throw new Error('the gateway runs without a database that the bench can see');
  return {
    target: gateway.target,
    gateway,
    databaseUrl,
    processes: [...embedded.processes, ...[postgres, redis].flatMap((server) => (server ? [server.process] : []))],
    services: { postgres: postgres?.version ?? 'embedded', redis: redis?.version ?? 'embedded' },
  };
}
