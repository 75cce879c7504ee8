import { type ExecutionContext, Injectable } from '@nestjs/common';
import { GatewayError } from '../../core/errors/gateway-error';
import { requestOf } from '../../core/http/request';
import type { StoredApiKey } from '../api-keys/stored-api-key';
import type { KeyedCall, KeyGuard } from './key-guard';

/** Refuses keys of an organization that is not active, and addresses outside `allowed_ips` (403). */
@Injectable()
export class AllowedIpGuard implements KeyGuard {
  readonly explainedBy = 'key';

  canActivate(context: ExecutionContext): boolean {
    const { apiKey, context: call } = requestOf(context);
    if (apiKey !== null) this.judge(apiKey, call);
    return true;
  }

  /** The contract has one code for both refusals, so only the messages differ. */
  judge({ organizationActive, allowedIps }: StoredApiKey, { clientAddress }: Pick<KeyedCall, 'clientAddress'>): void {
    if (!organizationActive) {
      throw new GatewayError('ip_not_allowed', 'The organization that owns this API key is not active.');
    }
    if (allowedIps === null || clientAddress === null || allowedIps.includes(clientAddress)) return;
    throw new GatewayError('ip_not_allowed', `This API key may not be used from the address ${clientAddress}.`);
  }
}
