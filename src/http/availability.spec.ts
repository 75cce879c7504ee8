import { EventEmitter } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import type { HttpAdapterHost } from '@nestjs/core';
import { systemClock } from '../core/time/clock';
import type { RequestAdmission } from '../inference/request-reservation';
import { DrainService, OverloadDetector } from './availability';

Logger.overrideLogger(false);

const LIMIT = 10;

function createGuard(limit = LIMIT) {
  const state = { inFlight: 0, nowMs: 0 };
  const guard = new OverloadDetector(state, { http: { overloadConcurrency: limit } }, { monotonic: () => state.nowMs });
  /** Samples every 100 ms. Returns whether any sample refused a new request. */
  const pass = (durationMs: number, utilization: number, inFlight: number): boolean => {
    let refused = false;
    state.inFlight = inFlight;
    for (const endMs = state.nowMs + durationMs; state.nowMs < endMs;) {
      state.nowMs += 100;
      guard.observe(state.nowMs, utilization);
      refused ||= guard.overloaded;
    }
    return refused;
  };
  return { guard, state, pass };
}

describe('OverloadDetector', () => {
  it('detects an overload after a second without idle time and with more requests than the limit', () => {
    const { pass } = createGuard();
    expect(pass(1_000, 1, LIMIT + 1)).toBe(false);
    expect(pass(200, 1, LIMIT + 1)).toBe(true);
  });

  it.each([
    ['many requests that wait for providers', 0.97, 5_000],
    ['few requests that keep it busy', 1, LIMIT - 1],
  ])('does not treat %s as an overload', (_what, utilization, inFlight) => {
    const { pass } = createGuard();
    expect(pass(60_000, utilization, inFlight)).toBe(false);
  });

  it('does not treat bursts of less than a second as an overload', () => {
    const { pass } = createGuard();
    for (let burst = 0; burst < 20; burst++) {
      expect(pass(1_000, 1, 1_000)).toBe(false);
      expect(pass(100, 0.5, 0)).toBe(false);
    }
  });

  it('admits one request per completed request, until five seconds without overload have passed', () => {
    const { guard, state, pass } = createGuard();
    pass(1_100, 1, 100);
    state.inFlight = LIMIT - 1;
    expect(guard.overloaded).toBe(false);
    state.inFlight = LIMIT;
    expect(guard.overloaded).toBe(true);
    expect(pass(4_800, 0.5, LIMIT + 1)).toBe(true);
    pass(200, 0.5, LIMIT + 1);
    expect(guard.overloaded).toBe(false);
  });

  it('admits fewer while the process stays busy, down to an eighth of the limit', () => {
    const { guard, state, pass } = createGuard(2_000);
    pass(1_100, 1, 2_001);
    pass(1_000, 1, 2_001);
    state.inFlight = 1_000;
    expect(guard.overloaded).toBe(true);
    pass(60_000, 1, 1_000);
    state.inFlight = 251;
    expect(guard.overloaded).toBe(true);
    state.inFlight = 250;
    expect(guard.overloaded).toBe(false);
  });

  it('raises the limit to the number in flight at once when the process has idle time, and grows it from there', () => {
    const { guard, state, pass } = createGuard(2_000);
    pass(5_000, 1, 2_001);
    pass(100, 0.97, 500);
    expect(guard.overloaded).toBe(false);
    state.inFlight = 530;
    expect(guard.overloaded).toBe(true);
    pass(1_000, 0.97, 700);
    expect(guard.overloaded).toBe(false);
  });

  it('logs the start of an overload, and its end with the duration', () => {
    const warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation();
    const log = jest.spyOn(Logger.prototype, 'log').mockImplementation();
    const { pass } = createGuard();
    pass(3_000, 1, 100);
    expect(warn.mock.calls).toEqual([[expect.objectContaining({ event: 'overload_started', in_flight: 100 })]]);
    expect(log).not.toHaveBeenCalled();
    pass(60_000, 0.5, 1);
    expect(log.mock.calls).toEqual([[expect.objectContaining({ event: 'overload_ended', duration_ms: 6_900 })]]);
    expect(warn).toHaveBeenCalledTimes(1);
  });

  it('admits as many as before once the overload has ended', () => {
    const { guard, state, pass } = createGuard(2_000);
    pass(5_000, 1, 2_001);
    pass(5_100, 0.5, 10);
    state.inFlight = 2_000;
    expect(guard.overloaded).toBe(false);
    expect(pass(1_000, 1, 2_001)).toBe(false);
  });
});

describe('DrainService', () => {
  function createDrain() {
    const server = new EventEmitter();
    const host = { httpAdapter: { getHttpServer: () => server } } as unknown as HttpAdapterHost;
    const admission = { whenIdle: () => Promise.resolve(true) } as unknown as RequestAdmission;
    const drain = new DrainService(host, admission, systemClock);
    drain.onModuleInit();
    return { drain, server };
  }

  it('drains only after the clients of the last refusals have disconnected', async () => {
    const { drain, server } = createDrain();
    let hasEnded = false;
    const ended = drain.drain(60_000).finally(() => (hasEnded = true));
    const socket = new EventEmitter();
    server.emit('request', { url: '/v1/chat/completions', socket }, new EventEmitter());

    await setImmediate();
    expect(hasEnded).toBe(false);
    socket.emit('close');
    expect(await ended).toBe(true);
  });

  it('waits for each connection once, however many of its pipelined requests are refused', async () => {
    const { drain, server } = createDrain();
    const ended = drain.drain(60_000);
    const socket = new EventEmitter();
    for (let index = 0; index < 20; index++) {
      server.emit('request', { url: '/v1/models', socket }, new EventEmitter());
    }

    expect(socket.listenerCount('close')).toBe(1);
    socket.emit('close');
    expect(await ended).toBe(true);
  });
});
