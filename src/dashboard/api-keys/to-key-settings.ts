import { GatewayError } from '../../core/errors/gateway-error';
import type { Micro } from '../../core/types/micro';
import type { ApiKeySettingsInput } from '../../auth/api-keys/api-key-settings';
import type { ApiKeySettingsDto } from './dto/api-key.dto';

/** @throws GatewayError `validation_failed` for a date that does not exist. */
export function toKeySettings(body: ApiKeySettingsDto): ApiKeySettingsInput {
  return {
    name: body.name,
    expiresAt: mapGiven(body.expires_at, toTime),
    allowedIps: body.allowed_ips,
    allowedModels: body.allowed_models,
    allowedModalities: body.allowed_modalities,
    requestsPerSecond: body.requests_per_second,
    requestsPerMinute: body.requests_per_minute,
    tokensPerMinute: body.tokens_per_minute,
    concurrency: body.concurrency,
    dailyBudgetMicro: mapGiven(body.daily_budget_micro, toMicro),
    monthlyBudgetMicro: mapGiven(body.monthly_budget_micro, toMicro),
  };
}

function mapGiven<Value, Result>(
  value: Value | null | undefined,
  map: (value: Value) => Result,
): Result | null | undefined {
  if (value === undefined) return undefined;
  return value === null ? null : map(value);
}

const toMicro = (amount: number): Micro => BigInt(amount);

function toTime(text: string): Date {
  const day = new Date(text.slice(0, 10));
  // `Date` reads 30 February as 2 March.
  const isDay = !Number.isNaN(day.getTime()) && day.toISOString().startsWith(text.slice(0, 10));
  const time = new Date(isDay ? text : Number.NaN);
  if (Number.isNaN(time.getTime())) {
    throw new GatewayError('validation_failed', 'expires_at is not a valid date.', { param: 'expires_at' });
  }
  return time;
}
