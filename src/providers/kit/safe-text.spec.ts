import { toSafeText } from './safe-text';

describe('toSafeText', () => {
  it.each([
    'Incorrect API key provided: sk-proj-abc123.',
    'Incorrect API key provided: sk-ab***********************cdef.',
    'in organization org-AbCdEf123456 on tokens per min',
    'project proj_AbCdEf1234 is archived',
    'Authorization was Bearer abc.def',
    'visit https://internal.example.com:8443/keys?token=1',
    'could not reach 10.1.2.3:8000',
    'owner someone@example.com',
    'session 0123456789abcdef0123456789abcdef',
  ])('redacts the secret in: %s', (text) => {
    const safe = toSafeText(text);
    expect(safe).toMatch(/\[(redacted|link)\]/);
    expect(safe).not.toMatch(/abc123|cdef|AbCdEf|abc\.def|internal|10\.1|someone/);
  });

  it('does not change an ordinary message', () => {
    const text = "Invalid value: 'foo'. Supported values are: 'auto' and 'none' (max 4,096 tokens).";
    expect(toSafeText(text)).toBe(text);
  });

  it('returns one line of at most 300 characters', () => {
    const safe = toSafeText(`a\n\tb\0 ${'😀 long text '.repeat(200)}`);
    expect(safe.length).toBeLessThanOrEqual(300);
    expect(safe).toMatch(/^a b 😀/);
    expect(safe.endsWith('…')).toBe(true);
  });

  it('never splits a character', () => {
    for (let lead = 0; lead < 4; lead++) {
      const safe = toSafeText('x'.repeat(lead) + '😀'.repeat(300));
      expect(Buffer.from(safe).toString()).toBe(safe);
    }
  });
});
