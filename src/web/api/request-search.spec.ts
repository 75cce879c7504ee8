import { isFiltered } from '../app/search-values';
import { filtersOf, requestSearch } from './request-search';

const NOW = Date.parse('2026-11-23T14:25:00Z');

it('keeps every filter of the API', () => {
  const search = {
    from: '2026-11-01',
    to: '2026-11-02T00:00:00Z',
    key_id: 'k',
    model: 'vendor/model',
    status: 'error',
    modality: 'audio',
    operation: 'createSpeech',
    error_code: 'rate_limited',
  };
  expect(filtersOf(requestSearch(search), NOW)).toEqual(search);
});

it('drops what the API would refuse', () => {
  const search = requestSearch({ from: 'soon', status: 'odd', modality: 1, operation: 'x', key_id: '', range: '5h' });
  expect(isFiltered(search)).toBe(false);
});

it('counts a range back from now, whatever the other times are', () => {
  expect(filtersOf(requestSearch({ range: '24h', to: '2026-11-01' }), NOW)).toMatchObject({
    from: '2026-11-22T14:25:00.000Z',
    to: undefined,
  });
});
