import { type ExecutionContext, Injectable } from '@nestjs/common';
import { requestOf } from '../../core/http/request';
import { assertModalityAllowed } from '../../core/types/principal';
import type { StoredApiKey } from '../api-keys/stored-api-key';
import type { KeyedCall, KeyGuard } from './key-guard';

/**
 * Refuses keys whose `allowed_modalities` lack the `@Modality()` of the route (403). The modality of the model in the body is
 * checked once the body is read.
 */
@Injectable()
export class ModalityGuard implements KeyGuard {
  readonly explainedBy = 'request';

  canActivate(context: ExecutionContext): boolean {
    const { apiKey, rules } = requestOf(context);
    if (apiKey !== null) this.judge(apiKey, rules);
    return true;
  }

  judge({ principal }: StoredApiKey, { modality }: Pick<KeyedCall, 'modality'>): void {
    if (modality !== undefined) assertModalityAllowed(principal, modality);
  }
}
