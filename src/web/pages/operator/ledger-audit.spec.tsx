import { renderToStaticMarkup } from 'react-dom/server';
import type { LedgerAudit } from '../../../contract/dashboard';
import { LedgerViolations } from './ledger-audit';

const FAILED: LedgerAudit = {
  object: 'ledger_audit',
  state: 'failed',
  completed_at: '2026-11-30T12:00:00.000Z',
  age_seconds: 1,
  duration_ms: 5,
  violation_count: 1,
  violations: [{ invariant: 'I1', subject: 'organization 1' }],
  failed_at: null,
  failure: null,
  next_due_at: '2026-11-30T12:05:00.000Z',
  oldest_open_day: null,
};

describe('the banner of a ledger with violations', () => {
  // The audit counts up to 20 in each day, and up to 1,000 in the books.
  it.each([
    [1, 'The ledger has 1 violation<'],
    [19, 'The ledger has 19 violations<'],
    [20, 'The ledger has 20 or more violations<'],
    [1000, 'The ledger has 1,000 or more violations<'],
  ])('says for a count of %s: %s', (count, title) => {
    const markup = renderToStaticMarkup(<LedgerViolations audit={{ ...FAILED, violation_count: count }} />);
    expect(markup).toContain(title);
    expect(markup).toContain('I1: organization 1');
  });
});
