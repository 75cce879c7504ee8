import { normalizeCidr } from '../../core/types/allowed-ips';
import { GatewayError } from '../../core/errors/gateway-error';
import { MAX_MICRO, type Micro } from '../../core/types/micro';
import { MAX_RATE_LIMIT, NO_LIMITS, type RateLimits } from '../../core/types/rate-limits';
import { isPrintable } from '../../core/types/printable';
import { isModalityGroup, MODALITY_GROUPS, type ModalityGroup } from '../../core/types/modality';

/** The settings an owner controls. `null` in a rule means "no rule". */
export interface ApiKeySettings extends RateLimits {
  readonly name: string;
  readonly expiresAt: Date | null;
  /** IPv4 or IPv6 addresses and CIDR ranges. */
  readonly allowedIps: readonly string[] | null;
  /** Model ids, or `vendor/*` for every model of a vendor. */
  readonly allowedModels: readonly string[] | null;
  readonly allowedModalities: readonly ModalityGroup[] | null;
  readonly dailyBudgetMicro: Micro | null;
  readonly monthlyBudgetMicro: Micro | null;
}

/** Settings as received: every field is optional, modalities are plain text, and a missing name gets a default. */
export type ApiKeySettingsInput = Partial<Omit<ApiKeySettings, 'name' | 'allowedModalities'>> & {
  readonly name?: string | null;
  readonly allowedModalities?: readonly string[] | null;
};

const MAX_NAME_LENGTH = 200;
const MAX_LIST_LENGTH = 200;
/** Later times have five-digit years, which JSON dates in ISO 8601 do not support. */
const END_OF_TIME_MS = Date.UTC(10_000, 0, 1);
const MODEL_PATTERN = /^[a-z0-9][a-z0-9._-]*\/(\*|[A-Za-z0-9][A-Za-z0-9._:@+-]*)$/;

/** The defaults of a new key. */
const UNRESTRICTED: ApiKeySettings = {
  name: 'default',
  expiresAt: null,
  allowedIps: null,
  allowedModels: null,
  allowedModalities: null,
  ...NO_LIMITS,
  dailyBudgetMicro: null,
  monthlyBudgetMicro: null,
};

/**
 * Complete, normalized settings.
 * @throws GatewayError `validation_failed`, `param` naming the setting as the database does, such as `allowed_ips[1]`
 */
export function parseApiKeySettings(input: ApiKeySettingsInput, nowMs: number): ApiKeySettings {
  return { ...UNRESTRICTED, ...parseApiKeyChanges(input, nowMs) };
}

/** The given settings, normalized. @throws GatewayError as {@link parseApiKeySettings}. */
export function parseApiKeyChanges(input: ApiKeySettingsInput, nowMs: number): Partial<ApiKeySettings> {
  const { name, expiresAt, allowedIps, allowedModels, allowedModalities } = input;
  return {
    ...(name !== undefined && { name: parseName(name ?? UNRESTRICTED.name) }),
    ...(expiresAt !== undefined && { expiresAt: parseExpiry(expiresAt, nowMs) }),
    ...(allowedIps !== undefined && {
      allowedIps: parseList(allowedIps, 'allowed_ips', 'must be an IP address or CIDR range', normalizeCidr),
    }),
    ...(allowedModels !== undefined && {
      allowedModels: parseList(allowedModels, 'allowed_models', 'must read vendor/name or vendor/*', parseModel),
    }),
    ...(allowedModalities !== undefined && {
      allowedModalities: parseList(
        allowedModalities,
        'allowed_modalities',
        `must be one of ${MODALITY_GROUPS.join(', ')}`,
        parseModality,
      ),
    }),
    ...parseRateLimits(input),
    ...parseBudgets(input),
  };
}

/** @throws GatewayError `validation_failed` naming `param`. */
export function parseName(name: string, param = 'name'): string {
  const trimmed = name.trim();
  const length = [...trimmed].length;
  // PostgreSQL text rejects NUL and lone surrogates; a name must not break lines or reverse text in lists and mails.
  if (length < 1 || length > MAX_NAME_LENGTH || !isPrintable(trimmed)) {
    throw invalid(param, `must be 1 to ${MAX_NAME_LENGTH} printable characters`);
  }
  return trimmed;
}

/** The given limits, validated. @throws GatewayError `validation_failed` naming the limit as the database does. */
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

function parseBudgets({ dailyBudgetMicro, monthlyBudgetMicro }: ApiKeySettingsInput): Partial<ApiKeySettings> {
  return {
    ...(dailyBudgetMicro !== undefined && {
      dailyBudgetMicro: parseAmount(dailyBudgetMicro, 'daily_budget_micro'),
    }),
    ...(monthlyBudgetMicro !== undefined && {
      monthlyBudgetMicro: parseAmount(monthlyBudgetMicro, 'monthly_budget_micro'),
    }),
  };
}

/**
 * An amount that responses can represent: above 9 billion USD a JSON integer is not exact.
 * @throws GatewayError `validation_failed` naming `param`.
 */
export function parseAmount(amount: Micro | null | undefined, param: string): Micro | null {
  if (amount === null || amount === undefined) return null;
  if (amount < 0n || amount > MAX_MICRO) throw invalid(param, `must be an integer from 0 to ${MAX_MICRO}`);
  return amount;
}

function parseExpiry(expiresAt: Date | null, nowMs: number): Date | null {
  if (expiresAt === null) return null;
  // Also refuses an invalid date, whose time is NaN.
  if (!(expiresAt.getTime() > nowMs && expiresAt.getTime() < END_OF_TIME_MS)) {
    throw invalid('expires_at', 'must be a time in the future, before the year 10000');
  }
  return expiresAt;
}

function parseLimit(limit: number | null, param: string): number | null {
  if (limit === null) return null;
  if (!Number.isInteger(limit) || limit < 1 || limit > MAX_RATE_LIMIT) {
    throw invalid(param, `must be an integer from 1 to ${MAX_RATE_LIMIT}`);
  }
  return limit;
}

/** An empty list would block every request and is probably a mistake, so it is refused. */
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

function parseModality(text: string): ModalityGroup | null {
  return isModalityGroup(text) ? text : null;
}

function invalid(param: string, rule: string): GatewayError {
  return new GatewayError('validation_failed', `${param} ${rule}.`, { param });
}
