import { ORGANIZATION_ACTIONS } from '../operator/audit-actions';
import { fieldChanges, textOf } from './audit-changes';
import { ACTION_TEXTS, parseAuditFilter } from './audit-filter';

describe('the audit log', () => {
  it('keeps the filters of its address that the API accepts', () => {
    const actor = '01a20999-497b-78bc-aba5-80a9c3fcb8c3';
    const filter = { action: 'key.created', actor, from: '2026-01-01', until: '2026-01-31' };
    expect(parseAuditFilter({ ...filter, page: 2 })).toEqual(filter);
    expect(parseAuditFilter({ action: '', actor: 'ada', from: 'today', until: '2026-13-01' })).toEqual({});
    expect(parseAuditFilter({ action: 'x'.repeat(101), from: 20260101 })).toEqual({});
  });

  it('has words for every change of an organization', () => {
    expect(ORGANIZATION_ACTIONS.filter((action) => ACTION_TEXTS[action] === undefined)).toEqual([]);
  });

  it('shows fields that differ, by name, with nothing as null', () => {
    const before = { name: 'a', limits: [1, 2], same: { x: 1 } };
    const after = { limits: [1, 3], same: { x: 1 }, enabled: false };
    expect(fieldChanges(before, after)).toEqual([
      { field: 'enabled', before: null, after: false },
      { field: 'limits', before: [1, 2], after: [1, 3] },
      { field: 'name', before: 'a', after: null },
    ]);
    expect(fieldChanges(null, null)).toEqual([]);
  });

  it('writes amounts as dollars and values as they are', () => {
    expect(textOf('daily_budget_micro', 12_500_000, 'utc')).toBe('$12.50');
    expect(textOf('amount_micro', '-1', 'utc')).toBe('−$0.000001');
    expect(textOf('enabled', true, 'utc')).toBe('yes');
    expect(textOf('allowed_ips', ['10.0.0.0/8', '::1'], 'utc')).toBe('10.0.0.0/8, ::1');
    expect(textOf('routes', { first: 1 }, 'utc')).toBe('{"first":1}');
    expect(textOf('name', null, 'utc')).toBe('–');
    expect(textOf('expires_at', '2026-07-01T12:00:00.000Z', 'utc')).toBe('2026-07-01 12:00:00 UTC');
    expect(textOf('name', '2026-07-01', 'utc')).toBe('2026-07-01');
  });
});
