import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { Inject, Injectable, Logger, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { InFlight } from '../core/concurrency/in-flight';
import { APP_CONFIG, type AppConfig } from '../core/config/app-config';
import { GatewayError } from '../core/errors/gateway-error';
import { Metrics } from '../core/observability/metrics/catalogue';
import { type Clock, CLOCK } from '../core/time/clock';
import { RequestAdmission } from '../inference/request-reservation';

const DASHBOARD_PATH = '/dashboard';
/** How long clients may take to send the rest of a refused request and to read the refusal. */
const REFUSAL_DELIVERY_TIMEOUT_MS = 2_000;

/**
 * Drains the process on shutdown. The server keeps listening while accepted requests finish: a closed port would look
 * like a crash to probes, and new requests get a retryable error.
 */
@Injectable()
export class DrainService implements OnModuleInit {
  private readonly answering = new InFlight();
  private readonly ofDashboard = new InFlight();
  private readonly refusing = new InFlight();
  private isAnnounced = false;
  private isDraining = false;

  constructor(
    private readonly host: HttpAdapterHost,
    private readonly admission: RequestAdmission,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** Whether the process is about to end: probes send further requests elsewhere. */
  get stopping(): boolean {
    return this.isAnnounced;
  }

  /** Whether new requests are refused. */
  get draining(): boolean {
    return this.isDraining;
  }

  /** Number of accepted requests in flight. */
  get inFlight(): number {
    return this.answering.size;
  }

  /** Number of accepted requests in flight that came from dashboard pages. */
  get inFlightOfDashboard(): number {
    return this.ofDashboard.size;
  }

  onModuleInit(): void {
    const server: Server = this.host.httpAdapter.getHttpServer();
    const end = (): void => this.answering.end();
    const endOfDashboard = (): void => this.ofDashboard.end();
    const endOfRefusal = (): void => this.refusing.end();
    const refused = new WeakSet<Socket>();
    server.on('request', ({ url, socket }: IncomingMessage, response: ServerResponse) => {
      if (this.isDraining) {
        // A connection can have hundreds of pipelined requests.
        if (refused.has(socket)) return;
        refused.add(socket);
        this.refusing.begin();
        socket.once('close', endOfRefusal);
        return;
      }
      this.answering.begin();
      response.on('close', end);
      if (url?.startsWith(DASHBOARD_PATH) !== true) return;
      this.ofDashboard.begin();
      response.on('close', endOfDashboard);
    });
  }

  /** Makes readiness probes return 503. Resolves after `delayMs`; requests are still accepted in the meantime. */
  async announce(delayMs: number): Promise<void> {
    this.isAnnounced = true;
    if (delayMs > 0) await delay(delayMs);
  }

  /**
   * Refuses new requests. Resolves when all accepted requests are answered, including those of disconnected clients
   * that may retry with their key; `false`: the deadline passed first. Also waits until clients have read the last
   * refusals: closing a connection while bytes still arrive resets it, and the client would lose its response.
   */
  async drain(timeoutMs: number): Promise<boolean> {
    this.isAnnounced = true;
    this.isDraining = true;
    const deadlineMs = this.clock.monotonic() + timeoutMs;
    const answered =
      (await this.answering.whenIdle(timeoutMs)) &&
      (await this.admission.whenIdle(Math.max(0, deadlineMs - this.clock.monotonic())));
    await this.refusing.whenIdle(REFUSAL_DELIVERY_TIMEOUT_MS);
    return answered;
  }
}

const logger = new Logger('OverloadDetector');

const SAMPLE_EVERY_MS = 100;
/** Event loop utilization from which more requests only add latency. */
const BUSY_UTILIZATION = 0.98;
/** Bursts up to this long do not count as overload. */
const MAX_BURST_MS = 1_000;
/** An overload ends this long after the last overloaded sample. */
const ALERT_MS = 5_000;
/** During an overload the limit shrinks and grows by these factors per sample. */
const SHRINK = 0.9;
const GROW = 1.05;
/** The limit keeps this share: refusals alone can keep a process busy while its requests wait for providers. */
const MIN_SHARE = 1 / 8;

/**
 * Detects overload: the event loop is never idle for a second while more requests are in flight than needed to keep it
 * busy. From then on a new request is admitted only when another has ended, because an immediate 503 is better than a
 * long wait for all. The number in flight alone means little: a thousand may be waiting for providers. So the limit
 * shrinks while the event loop stays busy, and otherwise follows the number in flight.
 */
@Injectable()
export class OverloadDetector implements OnModuleInit, OnModuleDestroy {
  private busySinceMs: number | null = null;
  private alertUntilMs = Number.NEGATIVE_INFINITY;
  private isAlert = false;
  private alertSinceMs = 0;
  private timer: NodeJS.Timeout | null = null;
  /** With this many requests in flight, a busy event loop is an overload; 0 disables the detector. */
  private readonly limit: number;
  /** `limit`, or less during an overload. */
  private allowedInFlight: number;

  constructor(
    @Inject(DrainService) private readonly drain: Pick<DrainService, 'inFlight'>,
    @Inject(APP_CONFIG) { http }: { readonly http: Pick<AppConfig['http'], 'overloadConcurrency'> },
    @Inject(CLOCK) private readonly clock: Pick<Clock, 'monotonic'>,
  ) {
    this.limit = http.overloadConcurrency;
    this.allowedInFlight = this.limit;
  }

  /** Whether a new request should be refused. */
  get overloaded(): boolean {
    return this.isAlert && this.drain.inFlight > this.allowedInFlight;
  }

  /** How long the current overload has lasted; 0 when there is none. */
  get overloadedForMs(): number {
    return this.isAlert ? this.clock.monotonic() - this.alertSinceMs : 0;
  }

  onModuleInit(): void {
    if (this.limit === 0) return;
    let last = performance.eventLoopUtilization();
    this.timer = setInterval(() => {
      const current = performance.eventLoopUtilization();
      this.observe(this.clock.monotonic(), performance.eventLoopUtilization(current, last).utilization);
      last = current;
    }, SAMPLE_EVERY_MS).unref();
  }

  onModuleDestroy(): void {
    if (this.timer !== null) clearInterval(this.timer);
  }

  /** @param utilization busy share of the event loop since the last call. */
  observe(nowMs: number, utilization: number): void {
    const { inFlight } = this.drain;
    const isBusy = utilization >= BUSY_UTILIZATION;
    if (isBusy && inFlight >= this.allowedInFlight) {
      this.busySinceMs ??= nowMs;
      if (this.isAlert || nowMs - this.busySinceMs >= MAX_BURST_MS) this.alertUntilMs = nowMs + ALERT_MS;
    } else {
      this.busySinceMs = null;
    }
    const wasAlert = this.isAlert;
    if (!wasAlert) this.alertSinceMs = nowMs;
    this.isAlert = nowMs < this.alertUntilMs;
    if (this.isAlert !== wasAlert) this.logChange(nowMs, inFlight);
    this.allowedInFlight = this.isAlert ? this.nextAllowed(inFlight, isBusy) : this.limit;
  }

  private logChange(nowMs: number, inFlight: number): void {
    if (this.isAlert) {
      const event = 'overload_started';
      logger.warn({ event, message: 'the process is overloaded and refuses requests', in_flight: inFlight });
    } else {
      const event = 'overload_ended';
      const durationMs = Math.round(nowMs - this.alertSinceMs);
      logger.log({ event, message: 'the process admits all requests again', duration_ms: durationMs });
    }
  }

  private nextAllowed(inFlight: number, isBusy: boolean): number {
    if (!isBusy) return Math.min(this.limit, Math.max(this.allowedInFlight, inFlight) * GROW);
    return Math.max(this.limit * MIN_SHARE, Math.min(this.allowedInFlight, inFlight) * SHRINK);
  }
}

/** Created once: capturing a stack costs as much as half a refusal. */
export const OVERLOADED = new GatewayError('service_unavailable', 'The server is overloaded. Retry shortly.', {
  retryAfterSeconds: 1,
});

/** Refuses requests while the process shuts down or is overloaded (503). Not asked on public routes, such as probes. */
@Injectable()
export class AvailabilityCheck {
  constructor(
    private readonly drain: DrainService,
    private readonly load: OverloadDetector,
    private readonly metrics: Metrics,
  ) {}

  /** Why a new request is refused; `null`: it may proceed. */
  refusal(): GatewayError | null {
    if (this.drain.draining) {
      return new GatewayError('service_unavailable', 'The server is shutting down. Retry shortly.', {
        retryAfterSeconds: 1,
      });
    }
    if (!this.load.overloaded) return null;
    this.metrics.overloadRejections.of().inc();
    return OVERLOADED;
  }
}
