import { filtersOf, requestSearch } from './request-search';

const NOW = Date.parse('2026-11-23T14:25:00Z');

it('keeps every filter of the API', () => {
  const search = {
    from: '2026-11-01',
    to: '2026-11-02T00:00:00Z',
    key_id: '00000000-0000-7000-8000-000000000001',
    model: 'vendor/model',
    status: 'error',
    modality: 'audio',
    operation: 'createSpeech',
    error_code: 'rate_limited',
  };
  expect(filtersOf(requestSearch(search), NOW)).toEqual(search);
});

it('drops what the API would refuse', () => {
  const words = { from: 'soon', to: '2026-02-31', status: 'odd', modality: 1, operation: 'x', range: '5h' };
  const long = { model: 'm'.repeat(201), error_code: 'e'.repeat(65), provider: 'p'.repeat(101) };
  const numbers = { min_cost_micro: 1e12 + 1, min_total_ms: 2 ** 31 };
  const search = requestSearch({ ...words, ...long, ...numbers, key_id: 'mine' });
  expect(search).toEqual({});
});

it('counts a range back from now, whatever the other times are', () => {
  expect(filtersOf(requestSearch({ range: '24h', to: '2026-11-01' }), NOW)).toMatchObject({
    from: '2026-11-22T14:25:00.000Z',
    to: undefined,
  });
});
