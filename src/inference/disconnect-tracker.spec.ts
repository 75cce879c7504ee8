import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { ResponseConnection } from '../core/http/request';
import { DisconnectTracker } from './idempotent-execution';

class Response extends EventEmitter {
  destroyed = false;
  writableFinished = false;

  close(): void {
    this.destroyed = true;
    this.emit('close');
  }
}

function track(mayRetry: boolean, response = new Response(), clients = new DisconnectTracker()) {
  const connection = new ResponseConnection(response as unknown as ServerResponse);
  return { response, clients, client: clients.track(connection, mayRetry) };
}

beforeEach(() => jest.useFakeTimers());
afterEach(() => {
  const timers = jest.getTimerCount();
  jest.useRealTimers();
  if (timers > 0) throw new Error(`${timers} timers are still active`);
});

describe('a client without an idempotency key', () => {
  it('aborts the work when it disconnects', () => {
    const { response, client } = track(false);
    expect([client.disconnected, client.signal.aborted]).toEqual([false, false]);
    response.close();
    expect([client.disconnected, client.signal.aborted]).toEqual([true, true]);
  });

  it('aborts the work when it has disconnected before the tracking starts', () => {
    const response = new Response();
    response.destroyed = true;
    expect(track(false, response).client.signal.aborted).toBe(true);
  });

  it('is not reported as disconnected after a complete response', () => {
    const { response, client } = track(false);
    response.writableFinished = true;
    response.close();
    expect([client.disconnected, client.signal.aborted]).toEqual([false, false]);
  });
});

describe('a client with an idempotency key', () => {
  it('aborts the work two minutes after the disconnect', () => {
    const { response, client } = track(true);
    response.close();
    expect([client.disconnected, client.signal.aborted]).toEqual([true, false]);
    jest.advanceTimersByTime(119_999);
    expect(client.signal.aborted).toBe(false);
    jest.advanceTimersByTime(1);
    expect(client.signal.aborted).toBe(true);
  });

  it('aborts nothing once the work is done', () => {
    const { response, client } = track(true);
    response.close();
    client.end();
    jest.advanceTimersByTime(120_000);
    expect(client.signal.aborted).toBe(false);
  });

  it('starts no timer when it disconnects after the work is done', () => {
    const { response, client } = track(true);
    client.end();
    response.close();
    expect(jest.getTimerCount()).toBe(0);
  });

  it('gets no grace period when its response cannot be stored, whether it disconnects before or after', () => {
    const [before, after] = [track(true), track(true)];
    before.response.close();
    before.client.disableRetryGrace();
    after.client.disableRetryGrace();
    expect(after.client.signal.aborted).toBe(false);
    after.response.close();
    expect([before.client.signal.aborted, after.client.signal.aborted]).toEqual([true, true]);
  });

  it('gets no grace period during shutdown', () => {
    const clients = new DisconnectTracker();
    const [gone, staying] = [track(true, undefined, clients), track(true, undefined, clients)];
    gone.response.close();
    clients.beforeApplicationShutdown();
    expect([gone.client.signal.aborted, staying.client.signal.aborted]).toEqual([true, false]);
    staying.response.close();
    const late = track(true, undefined, clients);
    late.response.close();
    expect([staying.client.signal.aborted, late.client.signal.aborted]).toEqual([true, true]);
  });
});
