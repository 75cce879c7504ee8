import { readdirSync } from 'node:fs';
import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import type { Metrics } from './catalogue';

/** The period that the event loop's figures describe. */
const PERIOD_MS = 10_000;
const DELAY_RESOLUTION_MS = 20;
const QUANTILES = [0.5, 0.99, 1];
const NANOSECONDS = 1e9;

/**
 * CPU, memory, files and event loop of the process. prom-client's own collector is not used: it observes every garbage
 * collection and cannot be stopped.
 */
export class ProcessMetrics {
  private readonly delay = monitorEventLoopDelay({ resolution: DELAY_RESOLUTION_MS });
  private lastUtilization = performance.eventLoopUtilization();
  private countedCpuSeconds = 0;
  private timer: NodeJS.Timeout | null = null;
  private endSource: () => void = () => undefined;

  constructor(private readonly metrics: Metrics) {}

  start(): void {
    const { metrics } = this;
    metrics.processStart.of().set(Date.now() / 1_000 - process.uptime());
    this.delay.enable();
    this.observeEventLoop();
    this.timer = setInterval(() => this.observeEventLoop(), PERIOD_MS).unref();
    this.endSource = metrics.addSource(() => this.observeProcess());
  }

  stop(): void {
    if (this.timer !== null) clearInterval(this.timer);
    this.delay.disable();
    this.endSource();
  }

  private observeEventLoop(): void {
    const { metrics, delay } = this;
    const current = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(current, this.lastUtilization);
    this.lastUtilization = current;
    metrics.eventLoopUtilization.of().set(utilization);
    for (const quantile of QUANTILES) {
      const seconds = quantile === 1 ? delay.max / NANOSECONDS : delay.percentile(quantile * 100) / NANOSECONDS;
      // Timers are late by their resolution even when the loop is idle. Without a sample the maximum is 0.
      metrics.eventLoopDelay.of(String(quantile)).set(Math.max(0, seconds - DELAY_RESOLUTION_MS / 1_000));
    }
    delay.reset();
  }

  private observeProcess(): void {
    const { metrics } = this;
    const { user, system } = process.cpuUsage();
    const cpuSeconds = (user + system) / 1e6;
    metrics.processCpu.of().inc(cpuSeconds - this.countedCpuSeconds);
    this.countedCpuSeconds = cpuSeconds;
    const { rss, heapUsed, external } = process.memoryUsage();
    metrics.processMemory.of().set(rss);
    metrics.heapUsed.of().set(heapUsed);
    metrics.externalMemory.of().set(external);
    metrics.processOpenFiles.of().set(countOpenFiles());
  }
}

/** 0 where the system has no `/proc`. */
function countOpenFiles(): number {
  try {
    return readdirSync('/proc/self/fd').length;
  } catch {
    return 0;
  }
}
