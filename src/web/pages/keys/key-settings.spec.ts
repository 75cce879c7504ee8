import type { ApiKey } from '../../../contract/dashboard';
import { changedSettings, restrictionsOf, textsOf } from './key-settings';

const KEY: ApiKey = {
  object: 'api_key',
  id: '01a20999-497b-78bc-aba5-80a9c3fcb8c3',
  organization_id: '01a2099e-8639-7af8-9d29-34ba622b75aa',
  kind: 'standard',
  name: 'production',
  prefix: 'sk-llm-3H2L',
  last4: 'YtAd',
  status: 'active',
  created_at: '2026-01-01T00:00:00.000Z',
  created_by: null,
  expires_at: '2026-02-03T04:05:59.123Z',
  revoked_at: null,
  replaced_by: null,
  last_used_on: null,
  allowed_ips: ['10.0.0.0/8', '2001:db8::/32'],
  allowed_models: null,
  allowed_modalities: ['text'],
  requests_per_second: null,
  requests_per_minute: 1200,
  tokens_per_minute: null,
  concurrency: null,
  daily_budget_micro: 12_500_001,
  monthly_budget_micro: null,
  use: { day_spent_micro: 0, day_held_micro: 0, month_spent_micro: 0, month_held_micro: 0 },
};

describe('the settings of a key', () => {
  const texts = textsOf(KEY);

  it('sends nothing when nothing was changed, not even a past expiry with its seconds', () => {
    expect(changedSettings(texts, texts)).toEqual({});
    expect(changedSettings(textsOf(undefined), textsOf(undefined))).toEqual({});
  });

  it('sends exact amounts, whole numbers, lists, and a moment of UTC', () => {
    const after = {
      ...texts,
      name: ' staging ',
      monthly_budget_micro: '0.000001',
      concurrency: '8',
      allowed_models: 'mock/*\n\n mock/chat-1, openai/gpt ',
      expires_at: '2027-03-04T05:06',
    };
    expect(changedSettings(texts, after)).toEqual({
      name: 'staging',
      monthly_budget_micro: 1,
      concurrency: 8,
      allowed_models: ['mock/*', 'mock/chat-1', 'openai/gpt'],
      expires_at: '2027-03-04T05:06:00.000Z',
    });
  });

  it('removes a restriction whose field was emptied', () => {
    const after = {
      ...texts,
      allowed_ips: '',
      allowed_modalities: '',
      daily_budget_micro: ' ',
      requests_per_minute: '',
    };
    expect(changedSettings(texts, after)).toEqual({
      allowed_ips: null,
      allowed_modalities: null,
      daily_budget_micro: null,
      requests_per_minute: null,
    });
  });

  it('lists only restrictions that the key has', () => {
    expect(restrictionsOf(KEY)).toEqual([
      ['Modalities', 'Text and embeddings'],
      ['IP addresses', '10.0.0.0/8, 2001:db8::/32'],
      ['Requests per minute', '1,200'],
      ['Daily budget', '$12.500001'],
    ]);
  });
});
