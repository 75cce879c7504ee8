import { microToJson } from '../../core/types/micro';
import type { ApiKey } from '../../contract/dashboard';
import type { ApiKeyInUse } from '../../auth/api-keys/api-key.reader';

export function toApiKey({ record, use, creator }: ApiKeyInUse): ApiKey {
  return {
    object: 'api_key',
    ...record,
    created_by: creator === null ? null : { user_id: creator.userId, email: creator.email },
    last_used_on: use.lastUsedOn,
    use: {
      day_spent_micro: microToJson(use.daySpentMicro),
      day_held_micro: microToJson(use.dayHeldMicro),
      month_spent_micro: microToJson(use.monthSpentMicro),
      month_held_micro: microToJson(use.monthHeldMicro),
    },
  };
}
