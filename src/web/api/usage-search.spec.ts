import { usageSearch, usageView } from './usage-search';

const NOW = Date.parse('2026-11-23T14:25:00Z');
const view = (search: Record<string, unknown>) => usageView(usageSearch(search), NOW);

it('shows cost by day and model of thirty days by default', () => {
  expect(view({})).toEqual({
    metric: 'cost',
    group: 'model',
    look: 'columns',
    range: '30d',
    interval: 'day',
    mayShowHours: true,
    from: '2026-10-25T00:00:00.000Z',
    to: undefined,
  });
});

it('drops what no address of the page has', () => {
  const search = { metric: 'money', group: 3, range: '2d', from: '2026-13-01', to: 'now', interval: 'week', look: '' };
  expect(view(search)).toEqual(view({}));
});

it.each([
  ['24h', '2026-11-22T15:00:00.000Z', 'hour'],
  ['7d', '2026-11-17T00:00:00.000Z', 'day'],
  ['12m', '2025-11-24T00:00:00.000Z', 'day'],
])('begins %s at %s', (range, from, interval) => {
  expect(view({ range })).toMatchObject({ from, interval, to: undefined });
});

it('includes the last of the chosen days', () => {
  expect(view({ from: '2026-11-01', to: '2026-11-02' })).toMatchObject({
    range: 'days',
    from: '2026-11-01',
    to: '2026-11-03T00:00:00.000Z',
    interval: 'hour',
  });
});

it('shows hours only as far as the API does', () => {
  expect(view({ range: '30d', interval: 'hour' })).toMatchObject({ interval: 'hour' });
  expect(view({ range: '90d', interval: 'hour' })).toMatchObject({ interval: 'day', mayShowHours: false });
  expect(view({ from: '2026-09-01', interval: 'hour' })).toMatchObject({ interval: 'day' });
});
