import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { ClientWatch } from './client-presence';

class Response extends EventEmitter {
  destroyed = false;
  writableFinished = false;

  close(): void {
    this.destroyed = true;
    this.emit('close');
  }
}

function watch(mayRetry: boolean, response = new Response(), clients = new ClientWatch()) {
  return { response, clients, client: clients.watch(response as unknown as ServerResponse, mayRetry) };
}

beforeEach(() => jest.useFakeTimers());
afterEach(() => {
  const timers = jest.getTimerCount();
  jest.useRealTimers();
  if (timers > 0) throw new Error(`${timers} timers are still active`);
});

describe('a client without an idempotency key', () => {
  it('aborts the work when it disconnects', () => {
    const { response, client } = watch(false);
    expect([client.gone, client.signal.aborted]).toEqual([false, false]);
    response.close();
    expect([client.gone, client.signal.aborted]).toEqual([true, true]);
  });

  it('aborts the work when it has disconnected before the watch starts', () => {
    const response = new Response();
    response.destroyed = true;
    expect(watch(false, response).client.signal.aborted).toBe(true);
  });

  it('is not reported as disconnected after a complete response', () => {
    const { response, client } = watch(false);
    response.writableFinished = true;
    response.close();
    expect([client.gone, client.signal.aborted]).toEqual([false, false]);
  });
});

describe('a client with an idempotency key', () => {
  it('aborts the work two minutes after the disconnect', () => {
    const { response, client } = watch(true);
    response.close();
    expect([client.gone, client.signal.aborted]).toEqual([true, false]);
    jest.advanceTimersByTime(119_999);
    expect(client.signal.aborted).toBe(false);
    jest.advanceTimersByTime(1);
    expect(client.signal.aborted).toBe(true);
  });

  it('aborts nothing once the work is done', () => {
    const { response, client } = watch(true);
    response.close();
    client.end();
    jest.advanceTimersByTime(120_000);
    expect(client.signal.aborted).toBe(false);
  });

  it('starts no timer when it disconnects after the work is done', () => {
    const { response, client } = watch(true);
    client.end();
    response.close();
    expect(jest.getTimerCount()).toBe(0);
  });

  it('gets no grace period when its response cannot be stored, whether it disconnects before or after', () => {
    const [before, after] = [watch(true), watch(true)];
    before.response.close();
    before.client.disableRetryGrace();
    after.client.disableRetryGrace();
    expect(after.client.signal.aborted).toBe(false);
    after.response.close();
    expect([before.client.signal.aborted, after.client.signal.aborted]).toEqual([true, true]);
  });

  it('gets no grace period during shutdown', () => {
    const clients = new ClientWatch();
    const [gone, staying] = [watch(true, undefined, clients), watch(true, undefined, clients)];
    gone.response.close();
    clients.beforeApplicationShutdown();
    expect([gone.client.signal.aborted, staying.client.signal.aborted]).toEqual([true, false]);
    staying.response.close();
    const late = watch(true, undefined, clients);
    late.response.close();
    expect([staying.client.signal.aborted, late.client.signal.aborted]).toEqual([true, true]);
  });
});
