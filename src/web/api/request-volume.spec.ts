import { requestVolume } from './request-volume';
import { requestSearch } from './request-search';

const NOW = Date.parse('2026-11-23T14:25:00Z');
const KEY = '00000000-0000-7000-8000-000000000001';
const volume = (search: Record<string, unknown>) => requestVolume(requestSearch(search), NOW);

it('counts thirty days by day and status without a filter', () => {
  expect(volume({})).toEqual({
    query: { from: '2026-10-25T00:00:00.000Z', to: undefined, interval: 'day', group_by: 'status' },
    groups: null,
    ignored: [],
  });
});

it.each([
  ['24h', 'hour', '2026-11-22T15:00:00.000Z'],
  // An hour alone does not show the usual volume.
  ['1h', 'hour', '2026-11-22T15:00:00.000Z'],
  ['7d', 'day', '2026-11-16T00:00:00.000Z'],
  ['30d', 'day', '2026-10-24T00:00:00.000Z'],
])('shows all of the last %s by %s', (range, interval, from) => {
  expect(volume({ range }).query).toMatchObject({ from, to: undefined, interval });
});

it.each([
  ['two days by hour', '2026-11-01T00:00:00Z', '2026-11-03T00:00:00Z', 'hour', '2026-11-01T00:00:00.000Z'],
  [
    'an hour with the day before it',
    '2026-11-01T09:00:00Z',
    '2026-11-01T10:00:00Z',
    'hour',
    '2026-10-31T10:00:00.000Z',
  ],
  ['weeks by day', '2026-10-01T09:00:00Z', '2026-11-01T10:00:00Z', 'day', '2026-10-01T00:00:00.000Z'],
  ['the last of many years', '2020-01-01T00:00:00Z', '2026-11-01T00:00:00Z', 'day', '2024-10-12T00:00:00.000Z'],
])('shows %s', (_what, from, to, interval, start) => {
  expect(volume({ from, to }).query).toMatchObject({ from: start, to, interval });
});

it('shows thirty days before an end without a beginning', () => {
  expect(volume({ to: '2026-11-01T10:00:00Z' }).query).toMatchObject({ from: '2026-10-03T00:00:00.000Z' });
});

it('has nothing to show of a period that is empty or in the future', () => {
  expect(volume({ from: '2026-11-03T00:00:00Z', to: '2026-11-01T00:00:00Z' }).query).toBeNull();
  expect(volume({ from: '2027-11-03T00:00:00Z' }).query).toBeNull();
});

it.each([
  [{ status: 'error' }, { group_by: 'status' }, ['error'], []],
  [{ model: 'a/b' }, { group_by: 'status', model: 'a/b' }, null, []],
  [{ key_id: KEY, status: 'success' }, { group_by: 'status', key_id: KEY }, ['success'], []],
  [{ modality: 'audio' }, { group_by: 'modality' }, ['speech', 'transcription'], []],
  [{ model: 'a/b', operation: 'createImage' }, { group_by: 'operation', model: 'a/b' }, ['createImage'], []],
  [{ error_code: 'rate_limited', status: 'error' }, { group_by: 'error_code' }, ['rate_limited'], []],
])('counts what passes %j', (search, query, groups, ignored) => {
  expect(volume(search)).toMatchObject({ query, groups, ignored });
});

it.each([
  [{ key_id: KEY, model: 'a/b' }, ['model']],
  [{ key_id: KEY, operation: 'createImage' }, ['operation']],
  [{ modality: 'image', status: 'error' }, ['status']],
  [{ provider: 'openai', min_cost_micro: 5, min_total_ms: 5 }, ['provider', 'min_cost_micro', 'min_total_ms']],
])('names the filters that totals cannot apply in %j', (search, ignored) => {
  expect(volume(search).ignored).toEqual(ignored);
});
