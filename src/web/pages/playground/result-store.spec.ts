import { ResultStore, type TabResult } from './result-store';

const LIMITS = { mostBytes: 100, mostResults: 3 };

function resultOf(requestId: string, bytes = 10): TabResult {
  const blob = new Blob([new Uint8Array(bytes)]);
  return { requestId, bytes, urls: [URL.createObjectURL(blob)], costMicro: 1 };
}

/** Runs a request that succeeds with the result. */
async function add(store: ResultStore, tab: string, result: TabResult): Promise<void> {
  await store.runRequest(tab, () => Promise.resolve(result));
}

const idsOf = (store: ResultStore, tab: string) => store.get(tab).results.map(({ requestId }) => requestId);
const revoke = jest.spyOn(URL, 'revokeObjectURL');
const exists = ({ urls: [url = ''] }: TabResult) => !revoke.mock.calls.some(([revoked]) => revoked === url);

it('keeps the answers of each tab, newest first', async () => {
  const store = new ResultStore(LIMITS);
  await add(store, 'image', resultOf('a'));
  await add(store, 'image', resultOf('b'));
  await add(store, 'speech', resultOf('c'));
  expect([idsOf(store, 'image'), idsOf(store, 'speech'), idsOf(store, 'music')]).toEqual([['b', 'a'], ['c'], []]);
});

it('gives the same state until something changes, and then tells its listeners', async () => {
  const store = new ResultStore(LIMITS);
  const listener = jest.fn();
  store.subscribe(listener);
  expect(store.get('image')).toBe(store.get('image'));
  await add(store, 'image', resultOf('a'));
  expect(listener).toHaveBeenCalled();
  expect(store.get('image')).toBe(store.get('image'));
});

it('drops the oldest answers of all tabs beyond the bytes, with their files', async () => {
  const store = new ResultStore(LIMITS);
  const [first, second, third] = [resultOf('a', 40), resultOf('b', 40), resultOf('c', 50)];
  await add(store, 'speech', first);
  await add(store, 'image', second);
  await add(store, 'image', third);
  expect([idsOf(store, 'speech'), idsOf(store, 'image')]).toEqual([[], ['c', 'b']]);
  expect([first, second, third].map(exists)).toEqual([false, true, true]);
});

it('drops the oldest answers beyond their number', async () => {
  const store = new ResultStore(LIMITS);
  for (const id of ['a', 'b', 'c', 'd']) await add(store, 'image', resultOf(id, 0));
  expect(idsOf(store, 'image')).toEqual(['d', 'c', 'b']);
});

it('shows an answer that is larger than everything that is kept, until the next one', async () => {
  const store = new ResultStore(LIMITS);
  const large = resultOf('large', 500);
  await add(store, 'image', large);
  expect([idsOf(store, 'image'), exists(large)]).toEqual([['large'], true]);
  await add(store, 'speech', resultOf('a'));
  expect([idsOf(store, 'image'), exists(large)]).toEqual([[], false]);
});

it('runs one request of a tab at a time, and ignores further ones', async () => {
  const store = new ResultStore(LIMITS);
  const second = jest.fn();
  const { promise, resolve } = Promise.withResolvers<TabResult>();
  const running = store.runRequest('image', () => promise);
  await store.runRequest('image', second);
  expect([second.mock.calls.length, store.get('image').pending]).toEqual([0, true]);
  resolve(resultOf('a'));
  await running;
  expect([idsOf(store, 'image'), store.get('image').pending]).toEqual([['a'], false]);
});

it('keeps the error of the last request until the next one', async () => {
  const store = new ResultStore(LIMITS);
  await store.runRequest('image', () => Promise.reject(new Error('refused')));
  expect(store.get('image').error?.message).toBe('refused');
  await add(store, 'image', resultOf('a'));
  expect(store.get('image').error).toBeNull();
});

it('forgets everything of a user: files are revoked, running requests aborted, and their answers never shown', async () => {
  const store = new ResultStore(LIMITS);
  const [kept, late] = [resultOf('a'), resultOf('b')];
  await add(store, 'image', kept);
  const { promise, resolve } = Promise.withResolvers<TabResult>();
  const signals: AbortSignal[] = [];
  const running = store.runRequest('image', (signal) => {
    signals.push(signal);
    return promise;
  });
  store.clear();
  resolve(late);
  await running;
  expect(signals[0]?.aborted).toBe(true);
  expect(store.get('image')).toEqual({ results: [], pending: false, error: null });
  expect([exists(kept), exists(late)]).toEqual([false, false]);
});
