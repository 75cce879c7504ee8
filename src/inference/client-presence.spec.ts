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
  if (timers > 0) throw new Error(`${timers} timers were left behind`);
});

describe('a client that cannot retry', () => {
  it('ends the work when it leaves', () => {
    const { response, client } = watch(false);
    expect([client.gone, client.signal.aborted]).toEqual([false, false]);
    response.close();
    expect([client.gone, client.signal.aborted]).toEqual([true, true]);
  });

  it('has left also when that was noticed before', () => {
    const response = new Response();
    response.destroyed = true;
    expect(watch(false, response).client.signal.aborted).toBe(true);
  });

  it('has not left when its answer was complete', () => {
    const { response, client } = watch(false);
    response.writableFinished = true;
    response.close();
    expect([client.gone, client.signal.aborted]).toEqual([false, false]);
  });
});

describe('a client that may retry', () => {
  it('leaves the work two minutes to be finished', () => {
    const { response, client } = watch(true);
    response.close();
    expect([client.gone, client.signal.aborted]).toEqual([true, false]);
    jest.advanceTimersByTime(119_999);
    expect(client.signal.aborted).toBe(false);
    jest.advanceTimersByTime(1);
    expect(client.signal.aborted).toBe(true);
  });

  it('has nothing that is stopped once the work is done', () => {
    const { response, client } = watch(true);
    response.close();
    client.end();
    jest.advanceTimersByTime(120_000);
    expect(client.signal.aborted).toBe(false);
  });

  it('sets nothing going when it leaves once the work is done, with its answer on the way', () => {
    const { response, client } = watch(true);
    client.end();
    response.close();
    expect(jest.getTimerCount()).toBe(0);
  });

  it('is like any other when its answer cannot be kept, whether it leaves before or after', () => {
    const [before, after] = [watch(true), watch(true)];
    before.response.close();
    before.client.expectNoRetry();
    after.client.expectNoRetry();
    expect(after.client.signal.aborted).toBe(false);
    after.response.close();
    expect([before.client.signal.aborted, after.client.signal.aborted]).toEqual([true, true]);
  });

  it('is not waited for any longer when the process goes, nor is one that leaves then', () => {
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
