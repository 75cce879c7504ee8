import { GatewayError } from '../../../src/core/errors/gateway-error';
import { newId, reserveCommand, settleCommand, type Account, type MoneyEngine } from './money-engine';

export interface MoneyLoadResult {
  readonly pairs: number;
  readonly refused: number;
  /** Calls that failed with `service_unavailable`. */
  readonly unavailable: number;
  readonly durationMs: number;
  readonly pairsPerSecond: number;
  /** CPU of this process, user and system, per reserve or finish. */
  readonly cpuMicrosecondsPerOperation: number;
  readonly latencyMs: { readonly p50: number; readonly p99: number };
  /** Ids of confirmed settlements with their charges: compare with the database to find lost and ghost rows. */
  readonly charged: ReadonlyMap<string, bigint>;
}

export interface MoneyLoadOptions {
  readonly callers: number;
  readonly durationMs: number;
  readonly amountMicro?: bigint;
  readonly actualMicro?: bigint;
  readonly signal?: AbortSignal;
}

/** Every caller reserves and settles sequentially, on the accounts round-robin, until the time is over. */
export async function runMoneyLoad(
  engine: MoneyEngine,
  accounts: readonly Account[],
  options: MoneyLoadOptions,
): Promise<MoneyLoadResult> {
  const { callers, durationMs, amountMicro = 1_000n, actualMicro = 700n } = options;
  const charged = new Map<string, bigint>();
  const latencies: number[] = [];
  let refused = 0;
  let unavailable = 0;
  let calls = 0;
  const startedAtMs = performance.now();
  const cpuBefore = process.cpuUsage();

  const isOver = (): boolean => performance.now() - startedAtMs > durationMs || options.signal?.aborted === true;
  const call = async (): Promise<void> => {
    while (!isOver()) {
      const account = accounts[calls++ % accounts.length] as Account;
      const command = reserveCommand(account, amountMicro, newId());
      const beganAtMs = performance.now();
      try {
        await engine.reservations.reserve(command);
        const result = await engine.reservations.finish(settleCommand(command, actualMicro, {}));
        charged.set(command.reservationId, result.chargedMicro);
        latencies.push(performance.now() - beganAtMs);
      } catch (error) {
        if (!(error instanceof GatewayError)) {
          throw error;
        }
        if (error.code === 'service_unavailable') {
          unavailable += 1;
          await new Promise((resolve) => setTimeout(resolve, 50));
        } else {
          refused += 1;
        }
      }
    }
  };
  await Promise.all(Array.from({ length: callers }, call));

  const { user, system } = process.cpuUsage(cpuBefore);
  const tookMs = performance.now() - startedAtMs;
  latencies.sort((left, right) => left - right);
  const percentile = (share: number): number => latencies[Math.floor(latencies.length * share)] ?? 0;
  return {
    pairs: latencies.length,
    refused,
    unavailable,
    durationMs: tookMs,
    pairsPerSecond: (latencies.length * 1_000) / tookMs,
    cpuMicrosecondsPerOperation: (user + system) / Math.max(1, latencies.length * 2),
    latencyMs: { p50: percentile(0.5), p99: percentile(0.99) },
    charged,
  };
}
