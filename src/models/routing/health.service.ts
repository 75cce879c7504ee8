import { Inject, Injectable, Logger, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { Cron } from '@nestjs/schedule';
import { APP_CONFIG, type AppConfig } from '../../core/config/app-config';
import { EVERY_5_SECONDS, scheduled } from '../../core/scheduling/scheduling.module';
import { type Clock, CLOCK } from '../../core/time/clock';
import type { ProviderError } from '../../providers/contract/provider-error';
import { KeyCoolDowns } from '../../providers/key-cool-downs';
import {
  type CallObserver,
  DeploymentCall,
  DeploymentHealth,
  type LastFailure,
  ProviderLoad,
} from './deployment-health';
import { type HealthNews, HealthSharing } from './health-sharing';

/** Failures further apart are not consecutive. */
const FAILURE_WINDOW_MS = 60_000;
/** Cool-down after a rate limit without `Retry-After`. */
const DEFAULT_COOL_MS = 10_000;

/**
 * Decides which deployments may be called (README.md). Every call is a `DeploymentCall`; its outcome updates the state
 * of its deployment here at once, and in the other processes within a second.
 */
@Injectable()
export class HealthService implements OnModuleInit, OnApplicationShutdown, CallObserver {
  private readonly logger = new Logger(HealthService.name);
  private readonly deployments = new Map<string, DeploymentHealth>();
  private readonly loads = new Map<string, ProviderLoad>();
  private readonly maxFailures: number;
  private readonly openMs: number;
  private readonly maxConcurrency: number;

  constructor(
    private readonly sharing: HealthSharing,
    private readonly keys: KeyCoolDowns,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(APP_CONFIG) { routing }: AppConfig,
  ) {
    this.maxFailures = routing.breakerFailures;
    this.openMs = routing.breakerOpenMs;
    this.maxConcurrency = routing.providerMaxConcurrency;
  }

  onModuleInit(): void {
    if (!this.isWatching) return;
    this.keys.onChange((id, forMs) => void this.sharing.announce({ kind: 'key', id, forMs }));
    this.sharing.listen(
      (news) => this.handleNews(news),
      () => void this.catchUp(),
    );
  }

  onApplicationShutdown(): void {
    if (this.isWatching) this.sharing.stop();
  }

  /** Applies state changes whose messages were lost. */
  @Cron(EVERY_5_SECONDS, scheduled('routing.health'))
  async poll(): Promise<void> {
    if (!this.isWatching) return;
    await this.catchUp().catch((error: unknown) => {
      const message = 'the health of deployments could not be read';
      this.logger.error({ event: 'health_read_failed', message, err: error });
    });
  }

  /** The health of a deployment: one object per deployment in this process. */
  healthOf(deploymentId: string): DeploymentHealth {
    let health = this.deployments.get(deploymentId);
    if (health === undefined) this.deployments.set(deploymentId, (health = new DeploymentHealth(deploymentId)));
    return health;
  }

  /** The load of a provider: one object per provider in this process. */
  loadOf(providerId: string): ProviderLoad {
    let load = this.loads.get(providerId);
    if (load === undefined) this.loads.set(providerId, (load = new ProviderLoad(this.maxConcurrency)));
    return load;
  }

  /** Calls in flight by provider. */
  *inFlightByProvider(): Iterable<readonly [providerId: string, calls: number]> {
    for (const [providerId, { inFlight }] of this.loads) yield [providerId, inFlight];
  }

  /**
   * Begins a call. `null`: the call is not allowed, since the deployment is unavailable or its provider at capacity.
   * The result is a promise only for a probe, which waits for one Redis command.
   */
  beginCall(health: DeploymentHealth, load: ProviderLoad): DeploymentCall | null | Promise<DeploymentCall | null> {
    if (load.isFull) return null;
    const nowMs = this.clock.monotonic();
    if (health.isUndisturbed) return new DeploymentCall(this, health, load, nowMs, false);
    switch (health.standing(nowMs)) {
      case 'ready':
        return new DeploymentCall(this, health, load, nowMs, false);
      case 'probe':
        return this.beginProbe(health, load, nowMs);
      case 'unavailable':
        return null;
    }
  }

  answered(call: DeploymentCall): void {
    const nowMs = this.clock.monotonic();
    call.answeredAtMs = nowMs;
    call.health.speed.firstTokenMs.add(nowMs - call.startedAtMs, nowMs);
    if (call.isProbe) this.close(call.health);
  }

  succeeded({ health, startedAtMs, answeredAtMs, isProbe }: DeploymentCall, outputBytes: number): void {
    const nowMs = this.clock.monotonic();
    if (answeredAtMs === null) health.speed.replyMs.add(nowMs - startedAtMs, nowMs);
    if (outputBytes > 0) {
      const writingMs = Math.max(1, nowMs - (answeredAtMs ?? startedAtMs));
      health.speed.bytesPerSecond.add((outputBytes * 1000) / writingMs, nowMs);
    }
    if (isProbe && health.isOpen) {
      this.close(health);
    } else if (health.failures > 0) {
      health.failures = 0;
      void this.sharing.forgetFailures(health.id);
    }
  }

  failed({ health, isProbe }: DeploymentCall, error: ProviderError): void {
    if (!this.isWatching) return;
    const effect = healthEffectOf(error);
    if (effect !== 'none') health.lastFailure = { code: error.code, atMs: this.clock.now() };
    if (effect === 'none' || effect === 'limited') {
      // A deployment that refuses a request is alive.
      if (isProbe) this.close(health);
      if (effect === 'limited') this.cool(health, error.options.retryAfterSeconds);
    } else if (health.isOpen ? isProbe : effect === 'refused') {
      this.openBreaker(health, error);
    } else if (!health.isOpen) {
      this.count(health, error);
    }
  }

  /** The state of deployments, in this process and in Redis. */
  async describe(deploymentIds: readonly string[]): Promise<DeploymentReport[]> {
    const shared = this.isWatching ? await this.sharing.readStates() : [];
    const nowMs = this.clock.monotonic();
    return deploymentIds.map((id) => reportOf(this.deployments.get(id) ?? new DeploymentHealth(id), shared, nowMs));
  }

  /** Whether this process has failures, an open breaker or a cool-down for the deployment. */
  isHeld(deploymentId: string): boolean {
    const health = this.deployments.get(deploymentId);
    return health !== undefined && (!health.isUndisturbed || health.failures > 0);
  }

  /** Clears the state of a deployment, here and in all processes. @returns whether Redis accepted the change. */
  async reset(deploymentId: string): Promise<boolean> {
    this.healthOf(deploymentId).reset();
    return this.sharing.forget(deploymentId);
  }

  private get isWatching(): boolean {
    return this.maxFailures > 0;
  }

  private async beginProbe(
    health: DeploymentHealth,
    load: ProviderLoad,
    nowMs: number,
  ): Promise<DeploymentCall | null> {
    // Before awaiting Redis, so that no other call in this process claims the same probe.
    health.trip(nowMs + this.openMs);
    const granted = await this.sharing.claimProbe(health.id, this.openMs);
    if (!granted || load.isFull) return null;
    return new DeploymentCall(this, health, load, this.clock.monotonic(), true);
  }

  private count(health: DeploymentHealth, error: ProviderError): void {
    if (health.countFailure(this.clock.monotonic(), FAILURE_WINDOW_MS) >= this.maxFailures) {
      this.openBreaker(health, error);
      return;
    }
    void this.sharing.countFailure(health.id, FAILURE_WINDOW_MS).then((failures) => {
      if (failures >= this.maxFailures && !health.isOpen) this.openBreaker(health, error);
    });
  }

  private openBreaker(health: DeploymentHealth, { code, options }: ProviderError): void {
    const again = health.isOpen;
    health.trip(this.clock.monotonic() + this.openMs);
    void this.sharing.announce({ kind: 'open', id: health.id, forMs: this.openMs });
    if (again) return;
    const facts = { deployment: health.id, for_ms: this.openMs, code, upstream: options.upstream };
    this.logger.warn({ event: 'breaker_opened', message: 'circuit breaker opened', ...facts });
  }

  private close(health: DeploymentHealth): void {
    if (!health.isOpen) return;
    health.close();
    void this.sharing.announce({ kind: 'close', id: health.id, forMs: 0 });
    this.logger.warn({ event: 'breaker_closed', message: 'circuit breaker closed', deployment: health.id });
  }

  private cool(health: DeploymentHealth, seconds: number | undefined): void {
    const forMs = seconds === undefined ? DEFAULT_COOL_MS : seconds * 1000;
    if (!health.cool(this.clock.monotonic() + forMs)) return;
    void this.sharing.announce({ kind: 'cool', id: health.id, forMs });
    this.logger.warn({
      event: 'cool_down_started',
      message: 'deployment is rate limited and cools down',
      deployment: health.id,
      for_ms: forMs,
    });
  }

  private async catchUp(): Promise<void> {
    const before = new Map(Array.from(this.deployments.values(), ({ id, changes }) => [id, changes]));
    const { endings } = this.keys;
    const read = await this.sharing.read();
    // Changes in this process since the read may be newer than the states that were read.
    const isCurrent = ({ kind, id }: HealthNews): boolean =>
      kind === 'key'
        ? this.keys.endings === endings
        : (this.deployments.get(id)?.changes ?? 0) === (before.get(id) ?? 0);
    for (const news of read.filter(isCurrent)) this.handleNews(news);
  }

  private handleNews({ kind, id, forMs }: HealthNews): void {
    if (kind === 'key') {
      this.keys.learn(id, forMs);
      return;
    }
    const health = this.healthOf(id);
    const wasOpen = health.isOpen;
    const untilMs = this.clock.monotonic() + forMs;
    switch (kind) {
      case 'open':
        // Already open: keep our own probe time.
        if (!wasOpen) health.trip(untilMs);
        break;
      case 'cool':
        health.cool(untilMs);
        break;
      case 'close':
        health.close();
        break;
      case 'reset':
        health.reset();
        break;
    }
    if (health.isOpen === wasOpen) return;
    const state = wasOpen ? 'closed' : 'opened';
    this.logger.log({
      event: `breaker_${state}_elsewhere`,
      message: `another process ${state} the circuit breaker`,
      deployment: id,
    });
  }
}

/**
 * The effect of a failed call on the health of its deployment. `failure`: counts towards the breaker. `refused`: our
 * account is refused, which opens the breaker at once. `limited`: starts a cool-down. `none`: the request was at fault.
 */
export type HealthEffect = 'failure' | 'refused' | 'limited' | 'none';

/** Statuses about the deployment or our access to it, and the upstream's timeout. */
const STATUSES_OF_THE_DEPLOYMENT: ReadonlySet<number> = new Set([403, 404, 408]);

/**
 * Other 4xx responses never count: a client that provokes them could open the breaker for all clients. For the same
 * reason 403, which some upstreams also return for offensive prompts, has to occur several times in a row, unless it is
 * about credit.
 */
export function healthEffectOf({ code, options }: ProviderError): HealthEffect {
  const status = options.upstream?.status ?? 0;
  if (code === 'provider_rate_limited') return 'limited';
  if (code === 'validation_failed') return 'none';
  if (options.credentialRefused === true && (status !== 403 || options.outOfCredit === true)) return 'refused';
  if (status >= 400 && status < 500 && !STATUSES_OF_THE_DEPLOYMENT.has(status)) return 'none';
  return 'failure';
}

/** `open`: the circuit breaker is open; `cooling_down`: after a rate limit. */
export type BreakerState = 'closed' | 'open' | 'cooling_down';

/** The health of a deployment for operators. Speeds and counts are those of this process. */
export interface DeploymentReport {
  readonly deploymentId: string;
  /** The state in this process. */
  readonly state: BreakerState;
  /** Milliseconds until the deployment may be called again; 0: now. */
  readonly waitMs: number;
  /** The state shared through Redis; `null`: Redis did not answer. */
  readonly sharedState: BreakerState | null;
  readonly failures: number;
  readonly inFlight: number;
  readonly lastFailure: LastFailure | null;
  readonly skippedEvents: number;
  /** Moving averages; `null`: unknown or expired. */
  readonly firstTokenMs: number | null;
  readonly replyMs: number | null;
  readonly bytesPerSecond: number | null;
}

/** @param shared `null`: Redis did not answer. */
function reportOf(health: DeploymentHealth, shared: readonly HealthNews[] | null, nowMs: number): DeploymentReport {
  const { id, failures, inFlight, lastFailure, skippedEvents, speed, isOpen } = health;
  return {
    deploymentId: id,
    state: isOpen ? 'open' : health.isCoolingDown(nowMs) ? 'cooling_down' : 'closed',
    waitMs: Math.max(0, health.waitMs(nowMs)),
    sharedState: shared === null ? null : sharedStateOf(id, shared),
    failures,
    inFlight,
    lastFailure,
    skippedEvents,
    firstTokenMs: speed.firstTokenMs.at(nowMs),
    replyMs: speed.replyMs.at(nowMs),
    bytesPerSecond: speed.bytesPerSecond.at(nowMs),
  };
}

function sharedStateOf(id: string, shared: readonly HealthNews[]): BreakerState {
  const kinds = shared.filter((news) => news.id === id).map(({ kind }) => kind);
  return kinds.includes('open') ? 'open' : kinds.includes('cool') ? 'cooling_down' : 'closed';
}
