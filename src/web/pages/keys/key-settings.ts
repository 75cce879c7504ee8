import type { ApiKey, ApiKeySettings, ModalityGroup } from '../../../contract/dashboard';
import { fieldError } from '../../api/field-error';
import { formatMicro, parseDollars, toInputDollars } from '../../format/money';
import { formatCount } from '../../format/count';
import { fromUtcInput, toUtcInput } from '../../format/time';

/** The fields of the settings form, with the names of the API. */
export const LIMIT_FIELDS = ['requests_per_second', 'requests_per_minute', 'tokens_per_minute', 'concurrency'] as const;
const BUDGET_FIELDS = ['daily_budget_micro', 'monthly_budget_micro'] as const;
const LIST_FIELDS = ['allowed_models', 'allowed_ips'] as const;
export const SETTINGS_FIELDS = [
  'name',
  'expires_at',
  'allowed_modalities',
  ...LIST_FIELDS,
  ...LIMIT_FIELDS,
  ...BUDGET_FIELDS,
] as const;

export type SettingsField = (typeof SETTINGS_FIELDS)[number];
export type SettingsTexts = Readonly<Record<SettingsField, string>>;

export const MODALITY_LABELS: Readonly<Record<ModalityGroup, string>> = {
  text: 'Text and embeddings',
  image: 'Images',
  audio: 'Speech and transcription',
  video: 'Video',
  music: 'Music',
  embedding: 'Embeddings only',
  speech: 'Speech only',
  transcription: 'Transcription only',
};

export const LIMIT_LABELS: Readonly<Record<(typeof LIMIT_FIELDS)[number], string>> = {
  requests_per_second: 'Requests per second',
  requests_per_minute: 'Requests per minute',
  tokens_per_minute: 'Tokens per minute',
  concurrency: 'Requests in flight',
};

/** What the form shows for a key; empty fields mean no restriction. */
export function textsOf(key: ApiKey | undefined): SettingsTexts {
  return {
    name: key?.name ?? '',
    expires_at: key?.expires_at == null ? '' : toUtcInput(key.expires_at),
    allowed_modalities: (key?.allowed_modalities ?? []).join('\n'),
    allowed_models: (key?.allowed_models ?? []).join('\n'),
    allowed_ips: (key?.allowed_ips ?? []).join('\n'),
    requests_per_second: number(key?.requests_per_second),
    requests_per_minute: number(key?.requests_per_minute),
    tokens_per_minute: number(key?.tokens_per_minute),
    concurrency: number(key?.concurrency),
    daily_budget_micro: dollars(key?.daily_budget_micro),
    monthly_budget_micro: dollars(key?.monthly_budget_micro),
  };
}

const number = (value: number | null | undefined): string => (value == null ? '' : String(value));
const dollars = (micro: number | null | undefined): string => (micro == null ? '' : toInputDollars(micro));

/**
 * The settings whose text differs. What stayed the same is not sent: a past expiry, for example, would be refused.
 * @throws ApiError for a field
 */
export function changedSettings(before: SettingsTexts, after: SettingsTexts): ApiKeySettings {
  const changed = SETTINGS_FIELDS.filter((field) => before[field].trim() !== after[field].trim());
  return Object.fromEntries(changed.map((field) => [field, toValue(field, after[field])]));
}

function toValue(field: SettingsField, text: string): ApiKeySettings[SettingsField] {
  const trimmed = text.trim();
  if (trimmed === '') return null;
  switch (field) {
    case 'name':
      return trimmed;
    case 'expires_at':
      return fromUtcInput(trimmed);
    case 'allowed_modalities':
    case 'allowed_models':
    case 'allowed_ips':
      return linesOf(text);
    case 'daily_budget_micro':
    case 'monthly_budget_micro':
      return dollarsOf(field, trimmed);
    default:
      return Number(trimmed);
  }
}

/** @throws ApiError for the field: null would remove the budget. */
function dollarsOf(field: SettingsField, text: string): number {
  const micro = parseDollars(text);
  if (micro === null)
    throw fieldError(field, 'Enter dollars with at most six decimals after a point, for example 250 or 12.50.');
  return micro;
}

function linesOf(text: string): string[] {
  return text
    .split(/[\n,]/)
    .map((line) => line.trim())
    .filter((line) => line !== '');
}

/** The restrictions of a key in words; nothing for those that it does not have. */
export function restrictionsOf(key: ApiKey): ReadonlyArray<readonly [label: string, value: string]> {
  const { allowed_modalities: modalities, allowed_models: models, allowed_ips: ips } = key;
  return [
    ...(models === null ? [] : [['Models', models.join(', ')] as const]),
    ...(modalities === null
      ? []
      : [['Modalities', modalities.map((group) => MODALITY_LABELS[group]).join(', ')] as const]),
    ...(ips === null ? [] : [['IP addresses', ips.join(', ')] as const]),
    ...LIMIT_FIELDS.flatMap((field) => {
      const limit = key[field];
      return limit === null ? [] : [[LIMIT_LABELS[field], formatCount(limit)] as const];
    }),
    ...(key.daily_budget_micro === null ? [] : [['Daily budget', formatMicro(key.daily_budget_micro)] as const]),
    ...(key.monthly_budget_micro === null ? [] : [['Monthly budget', formatMicro(key.monthly_budget_micro)] as const]),
  ];
}
