import { Body, Controller, HttpCode, Inject, Post, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { ApiKeyRepository } from '../../auth/api-keys/api-key.repository';
import { KEY_GUARDS, type KeyGuard } from '../../auth/guards/key.guards';
import { OPERATION_MODALITIES } from '../../billing/usage/operations';
import { GatewayError } from '../../core/errors/gateway-error';
import { parseIpAddress } from '../../core/types/ip-range';
import { requireUuid } from '../../core/types/require-uuid';
import { mayActAs, ROLES } from '../../core/types/role';
import type { components } from '../../contract/dashboard';
import { AcceptsUnfaithful, AnswersOnly, Session } from '../../core/http/route.decorators';
import { RequestExplainer } from '../../inference/request-explainer';
import { Caller, type DashboardCaller } from '../session/caller';
import { ExplainRequestDto } from './explain-request.dto';
import { ExplainedOperations } from './explained-operations';
import { toExplanationReply } from './explanation-reply';
import { strictDto } from '../../core/validation/strict-dto.pipe';

/** The default limit of `/v1`, because images are in the body. */
const MAX_BODY_BYTES = 10 * 1_048_576;
const DEVELOPERS = ROLES.filter((role) => mayActAs(role, 'developer'));
const NO_KEY = 'There is no such API key.';

@Controller('dashboard/api/explain')
export class ExplainController {
  constructor(
    private readonly keys: ApiKeyRepository,
    private readonly operations: ExplainedOperations,
    private readonly explainer: RequestExplainer,
    @Inject(KEY_GUARDS) private readonly guards: readonly KeyGuard[],
  ) {}

  @Post()
  @HttpCode(200)
  @Session('user', { maxBodyBytes: MAX_BODY_BYTES })
  @AnswersOnly()
  @AcceptsUnfaithful()
  async explainRequest(
    @Caller() caller: DashboardCaller,
    @Body(strictDto) { key_id: keyId, operation, client_ip, request }: ExplainRequestDto,
    @Req() { context, unfaithfulBody }: FastifyRequest,
  ): Promise<components['schemas']['Explanation']> {
    const key = await this.keys.findForMember(requireUuid(keyId, NO_KEY), caller.userId, DEVELOPERS);
    if (key === null) throw new GatewayError('not_found', NO_KEY);
    const { principal } = key;
    const clientAddress = client_ip == null ? null : requireAddress(client_ip);
    const understand = this.operations.understand(operation, request, { ...context, principal }, unfaithfulBody);
    const call = { clientAddress, modality: OPERATION_MODALITIES[operation] };
    const judgments = this.guards.map((guard) => ({ check: guard.explainedBy, judge: () => guard.judge(key, call) }));
    const explanation = await this.explainer.explain(principal, judgments, understand);
    return toExplanationReply(principal, { operation, clientAddress }, explanation);
  }
}

function requireAddress(text: string): string {
  if (parseIpAddress(text) !== null) return text;
  throw new GatewayError('validation_failed', 'client_ip must be an IPv4 or IPv6 address.', { param: 'client_ip' });
}
