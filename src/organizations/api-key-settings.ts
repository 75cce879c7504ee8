import { normalizeCidr } from '../auth/allowed-ips';
import { GatewayError } from '../common/errors/gateway-error';
import type { Micro } from '../common/micro';
import { NO_LIMITS, type RateLimits } from '../common/rate-limits';
import { MODALITIES, type Modality } from '../common/modality';

/** What the owner of a key decides about it. `null` in a rule means "no rule". */
export interface ApiKeySettings extends RateLimits {
  readonly name: string;
  readonly expiresAt: Date | null;
  /** IPv4 or IPv6 addresses and CIDR ranges. */
  readonly allowedIps: readonly string[] | null;
  /** Model ids, or `vendor/*` for every model of a vendor. */
  readonly allowedModels: readonly string[] | null;
  readonly allowedModalities: readonly Modality[] | null;
  readonly dailyBudgetMicro: Micro | null;
  readonly monthlyBudgetMicro: Micro | null;
}

/** Settings as they arrive: anything may be missing, and modalities are still text. */
export type ApiKeySettingsInput = Partial<Omit<ApiKeySettings, 'allowedModalities'>> & {
  readonly allowedModalities?: readonly string[] | null;
};

/** What a key may use. `null`: no such limit. */
export type ApiKeyLimits = RateLimits & Pick<ApiKeySettings, 'dailyBudgetMicro' | 'monthlyBudgetMicro'>;

const DEFAULT_NAME = 'default';
const MAX_NAME_LENGTH = 200;
const MAX_LIST_LENGTH = 200;
const MAX_INTEGER = 2 ** 31 - 1;
const MAX_BIGINT = 2n ** 63n - 1n;
const MODEL_PATTERN = /^[a-z0-9][a-z0-9._-]*\/(\*|[A-Za-z0-9][A-Za-z0-9._:@+-]*)$/;

/**
 * Complete, normalized settings.
 * @throws GatewayError `validation_failed`, `param` naming the setting as the database does, for example
 *   `allowed_ips[1]`.
 */
export function parseApiKeySettings(input: ApiKeySettingsInput, nowMs: number): ApiKeySettings {
  return {
    name: parseName(input.name ?? DEFAULT_NAME),
    expiresAt: parseExpiry(input.expiresAt ?? null, nowMs),
    allowedIps: parseList(input.allowedIps, 'allowed_ips', 'must be an IP address or CIDR range', normalizeCidr),
    allowedModels: parseList(input.allowedModels, 'allowed_models', 'must read vendor/name or vendor/*', parseModel),
    allowedModalities: parseList(
      input.allowedModalities,
      'allowed_modalities',
      `must be one of ${MODALITIES.join(', ')}`,
      parseModality,
    ),
    ...NO_LIMITS,
    dailyBudgetMicro: null,
    monthlyBudgetMicro: null,
    ...parseApiKeyLimits(input),
  };
}

/** The limits and budgets that are named. @throws GatewayError `validation_failed`, as {@link parseApiKeySettings}. */
export function parseApiKeyLimits(input: Partial<ApiKeyLimits>): Partial<ApiKeyLimits> {
  const { dailyBudgetMicro, monthlyBudgetMicro } = input;
  return {
    ...parseRateLimits(input),
    ...(dailyBudgetMicro !== undefined && {
      dailyBudgetMicro: parseAmount(dailyBudgetMicro, 'daily_budget_micro'),
    }),
    ...(monthlyBudgetMicro !== undefined && {
      monthlyBudgetMicro: parseAmount(monthlyBudgetMicro, 'monthly_budget_micro'),
    }),
  };
}

/** @throws GatewayError `validation_failed` with `param: "name"`. */
export function parseName(name: string): string {
  const trimmed = name.trim();
  const length = [...trimmed].length;
  // PostgreSQL text holds neither NUL nor half a surrogate pair; a name in a list should hold no control character.
  if (length < 1 || length > MAX_NAME_LENGTH || /[\p{Cc}\p{Cs}]/u.test(trimmed)) {
    throw invalid('name', `must be 1 to ${MAX_NAME_LENGTH} printable characters`);
  }
  return trimmed;
}

/** The limits that are named. @throws GatewayError `validation_failed` naming the limit as the database does. */
export function parseRateLimits(input: Partial<RateLimits>): Partial<RateLimits> {
  const { requestsPerSecond, requestsPerMinute, tokensPerMinute, concurrency } = input;
  return {
    ...(requestsPerSecond !== undefined && {
      requestsPerSecond: parseLimit(requestsPerSecond, 'requests_per_second'),
    }),
    ...(requestsPerMinute !== undefined && {
      requestsPerMinute: parseLimit(requestsPerMinute, 'requests_per_minute'),
    }),
    ...(tokensPerMinute !== undefined && { tokensPerMinute: parseLimit(tokensPerMinute, 'tokens_per_minute') }),
    ...(concurrency !== undefined && { concurrency: parseLimit(concurrency, 'concurrency') }),
  };
}

/** @throws GatewayError `validation_failed` naming `param`. */
export function parseAmount(amount: Micro | null | undefined, param: string): Micro | null {
  if (amount === null || amount === undefined) return null;
  if (amount < 0n || amount > MAX_BIGINT) throw invalid(param, 'must be an integer of at least 0');
  return amount;
}

function parseExpiry(expiresAt: Date | null, nowMs: number): Date | null {
  if (expiresAt === null) return null;
  // Also refuses an invalid date, whose time is NaN.
  if (!(expiresAt.getTime() > nowMs)) throw invalid('expires_at', 'must be a time in the future');
  return expiresAt;
}

function parseLimit(limit: number | null, param: string): number | null {
  if (limit === null) return null;
  if (!Number.isInteger(limit) || limit < 1 || limit > MAX_INTEGER) {
    throw invalid(param, 'must be an integer of at least 1');
  }
  return limit;
}

/** An empty list would lock everything out by what is more likely a slip than a wish: it is refused. */
function parseList<Entry extends string>(
  entries: readonly string[] | null | undefined,
  param: string,
  rule: string,
  parse: (text: string) => Entry | null,
): readonly Entry[] | null {
  if (entries === null || entries === undefined) return null;
  if (entries.length < 1 || entries.length > MAX_LIST_LENGTH) {
    throw invalid(param, `must have 1 to ${MAX_LIST_LENGTH} entries; leave it out to allow all`);
  }
  const parsed = entries.map((text, index) => {
    const entry = parse(text);
    if (entry === null) throw invalid(`${param}[${index}]`, rule);
    return entry;
  });
  return [...new Set(parsed)];
}

function parseModel(text: string): string | null {
  return text.length <= MAX_NAME_LENGTH && MODEL_PATTERN.test(text) ? text : null;
}

function parseModality(text: string): Modality | null {
  return MODALITIES.find((modality) => modality === text) ?? null;
}

function invalid(param: string, rule: string): GatewayError {
  return new GatewayError('validation_failed', `${param} ${rule}.`, { param });
}
