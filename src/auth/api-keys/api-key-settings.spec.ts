import { parseApiKeySettings, type ApiKeySettingsInput } from './api-key-settings';

const NOW_MS = Date.UTC(2030, 0, 1);

describe('API key settings', () => {
  it('default to no restrictions', () => {
    expect(parseApiKeySettings({}, NOW_MS)).toEqual({
      name: 'default',
      expiresAt: null,
      allowedIps: null,
      allowedModels: null,
      allowedModalities: null,
      requestsPerSecond: null,
      requestsPerMinute: null,
      tokensPerMinute: null,
      concurrency: null,
      dailyBudgetMicro: null,
      monthlyBudgetMicro: null,
    });
  });

  it('trim names, canonicalize CIDR ranges and drop duplicates', () => {
    expect(
      parseApiKeySettings(
        { name: ' ci ', allowedIps: ['10.0.0.1/8', '10.0.0.0/8', '::1'], allowedModels: ['a/*', 'a/*', 'a/B:c@1+2'] },
        NOW_MS,
      ),
    ).toMatchObject({ name: 'ci', allowedIps: ['10.0.0.0/8', '::1/128'], allowedModels: ['a/*', 'a/B:c@1+2'] });
  });

  it.each<[string, ApiKeySettingsInput]>([
    ['name', { name: ' ' }],
    ['name', { name: 'a\u0000' }],
    ['expires_at', { expiresAt: new Date(NOW_MS) }],
    ['expires_at', { expiresAt: new Date('tomorrow') }],
    ['allowed_ips', { allowedIps: [] }],
    ['allowed_ips', { allowedIps: Array.from({ length: 201 }, () => '::1') }],
    ['allowed_ips[1]', { allowedIps: ['::1', 'example.com'] }],
    ['allowed_models[0]', { allowedModels: ['gpt'] }],
    ['allowed_models[0]', { allowedModels: ['*/gpt'] }],
    ['allowed_models[0]', { allowedModels: ['openai/gpt*'] }],
    ['allowed_models[0]', { allowedModels: ['*'] }],
    ['allowed_models[0]', { allowedModels: [`openai/${'x'.repeat(200)}`] }],
    ['allowed_modalities[0]', { allowedModalities: ['smell'] }],
    ['requests_per_second', { requestsPerSecond: 0 }],
    ['requests_per_minute', { requestsPerMinute: 1.5 }],
    ['tokens_per_minute', { tokensPerMinute: -1 }],
    ['concurrency', { concurrency: 2 ** 31 }],
    ['daily_budget_micro', { dailyBudgetMicro: -1n }],
    ['monthly_budget_micro', { monthlyBudgetMicro: 2n ** 63n }],
  ])('refuses %s of %j', (param, input) => {
    expect(() => parseApiKeySettings(input, NOW_MS)).toThrow(
      expect.objectContaining({ code: 'validation_failed', param }),
    );
  });

  it.each([0, 2 ** 31])('name both bounds of a limit when they refuse %d', (requestsPerSecond) => {
    expect(() => parseApiKeySettings({ requestsPerSecond }, NOW_MS)).toThrow('from 1 to 2147483647');
  });
});
