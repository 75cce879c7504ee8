import type { components } from '../../src/contract/dashboard';
import type { Mirrors } from '../../src/contract/mirrors';
import {
  EmailConfirmationDto,
  EmailRequestDto,
  LoginRequestDto,
  PasswordChangeDto,
  PasswordResetConfirmationDto,
  RegistrationRequestDto,
  UserUpdateDto,
} from '../../src/dashboard/accounts/dto/account.dto';
import { BillingSettingsUpdateDto, PurchaseCreationDto } from '../../src/dashboard/billing/dto/billing.dto';
import { ExplainRequestDto } from '../../src/dashboard/explain/explain-request.dto';
import { ApiKeyRotationDto, ApiKeySettingsDto } from '../../src/dashboard/api-keys/dto/api-key.dto';
import {
  InvitationAcceptanceDto,
  InvitationCreationDto,
  InvitationPreviewRequestDto,
  MemberUpdateDto,
  OrganizationProfileDto,
} from '../../src/dashboard/organizations/dto/organization.dto';
import {
  DeploymentUpdateDto,
  ModelUpdateDto,
  PriceVersionCreationDto,
  PriceVersionEndDto,
} from '../../src/dashboard/operator/dto/catalog.dto';
import { CredentialUpdateDto, ProviderInstanceUpdateDto } from '../../src/dashboard/operator/dto/credential.dto';
import {
  BalanceAdjustmentRequestDto,
  OrganizationLimitsUpdateDto,
  OrganizationStatusChangeDto,
  PurchaseReviewDto,
} from '../../src/dashboard/operator/dto/operator-organization.dto';
import { TestWebhookRequestDto } from '../../src/dashboard/webhooks/test-webhook-request.dto';
import { childOf, isObject, openapiDocument, operationsOf } from '../harness/openapi-document';
import { describePairs, type Pair } from './dto-pairs';

type Schemas = components['schemas'];

/** Does not compile unless the class mirrors the schema's generated type; the message names what `differs`. */
function pair<Name extends keyof Schemas, Dto extends object>(
  schema: Name,
  dto: (new () => Dto) & (Mirrors<Dto, Schemas[Name]> extends true ? unknown : Mirrors<Dto, Schemas[Name]>),
  bodies: readonly unknown[] = [],
): Pair {
  return { schema, dto, bodies };
}

const API_KEY_BODIES = [
  { expires_at: '2030-01-31T12:00:00Z' },
  { expires_at: '2030-01-31T12:00:00.123456+02:00' },
  { expires_at: '2030-01-31' },
  { expires_at: '2030-01-31T12:00:00' },
  { allowed_modalities: ['text', 'video'] },
];

const INSTANCE_BODIES = [
  { module: 'vllm', api_keys: [] },
  { module: 'vllm', api_keys: [], expected_updated_at: null },
  { module: 'vllm', api_keys: [], expected_updated_at: '2030-01-31T12:00:00.000Z' },
  { module: 'vllm', api_keys: [], expected_updated_at: '' },
  {
    module: 'vllm',
    api_keys: [
      { key: 'a', weight: 1_000 },
      { id: 'b', weight: null },
    ],
  },
  { module: 'vllm', api_keys: [{ key: 'a', weight: 1_001 }] },
  { module: 'vllm', api_keys: [{ key: 'a', other: 1 }] },
  { module: 'vllm', api_keys: [null] },
  { module: 'vllm', api_keys: Array.from({ length: 101 }, () => ({ key: 'a' })) },
];

const PURCHASE_BODIES = [
  { amount_micro: 1_000_000 },
  { amount_micro: 1_010_000 },
  { amount_micro: 1_005_000 },
  { amount_micro: 1_000_001 },
  { amount_micro: 10_000_000_000 },
  { amount_micro: 1e300 },
];

const EMAIL_BODIES = [
  { email: 'ada@example.com' },
  { email: 'Ada.Lovelace+gateway@mail.example.com' },
  { email: 'ada@localhost' },
  { email: 'ada@example.com ' },
  { email: 'ada@example.com\n' },
  { email: 'ada@exämple.com' },
  { email: 'ada@-example.com' },
  { email: 'a@b@example.com' },
  { email: `${'a'.repeat(64)}@example.com` },
  { email: `${'a'.repeat(65)}@example.com` },
  { email: `a@${'b.'.repeat(124)}com` },
  { email: `a@${'b.'.repeat(125)}com` },
];

/** Every request schema of the dashboard. */
const PAIRS: readonly Pair[] = [
  pair<'RegistrationRequest', RegistrationRequestDto>('RegistrationRequest', RegistrationRequestDto),
  pair<'EmailRequest', EmailRequestDto>('EmailRequest', EmailRequestDto, EMAIL_BODIES),
  pair<'EmailConfirmation', EmailConfirmationDto>('EmailConfirmation', EmailConfirmationDto),
  pair<'PasswordResetConfirmation', PasswordResetConfirmationDto>(
    'PasswordResetConfirmation',
    PasswordResetConfirmationDto,
  ),
  pair<'LoginRequest', LoginRequestDto>('LoginRequest', LoginRequestDto),
  pair<'PasswordChange', PasswordChangeDto>('PasswordChange', PasswordChangeDto),
  pair<'UserUpdate', UserUpdateDto>('UserUpdate', UserUpdateDto),
  pair<'OrganizationProfile', OrganizationProfileDto>('OrganizationProfile', OrganizationProfileDto),
  pair<'MemberUpdate', MemberUpdateDto>('MemberUpdate', MemberUpdateDto),
  pair<'InvitationCreation', InvitationCreationDto>('InvitationCreation', InvitationCreationDto),
  pair<'InvitationAcceptance', InvitationAcceptanceDto>('InvitationAcceptance', InvitationAcceptanceDto),
  pair<'InvitationPreviewRequest', InvitationPreviewRequestDto>(
    'InvitationPreviewRequest',
    InvitationPreviewRequestDto,
  ),
  pair<'ApiKeySettings', ApiKeySettingsDto>('ApiKeySettings', ApiKeySettingsDto, API_KEY_BODIES),
  pair<'ApiKeyRotation', ApiKeyRotationDto>('ApiKeyRotation', ApiKeyRotationDto),
  pair<'OrganizationStatusChange', OrganizationStatusChangeDto>(
    'OrganizationStatusChange',
    OrganizationStatusChangeDto,
  ),
  pair<'PurchaseReview', PurchaseReviewDto>('PurchaseReview', PurchaseReviewDto),
  pair<'OrganizationLimitsUpdate', OrganizationLimitsUpdateDto>(
    'OrganizationLimitsUpdate',
    OrganizationLimitsUpdateDto,
  ),
  pair<'BalanceAdjustmentRequest', BalanceAdjustmentRequestDto>(
    'BalanceAdjustmentRequest',
    BalanceAdjustmentRequestDto,
  ),
  pair<'ModelUpdate', ModelUpdateDto>('ModelUpdate', ModelUpdateDto),
  pair<'DeploymentUpdate', DeploymentUpdateDto>('DeploymentUpdate', DeploymentUpdateDto),
  pair<'PriceVersionCreation', PriceVersionCreationDto>('PriceVersionCreation', PriceVersionCreationDto),
  pair<'PriceVersionEnd', PriceVersionEndDto>('PriceVersionEnd', PriceVersionEndDto),
  pair<'ExplainRequest', ExplainRequestDto>('ExplainRequest', ExplainRequestDto),
  pair<'TestWebhookRequest', TestWebhookRequestDto>('TestWebhookRequest', TestWebhookRequestDto),
  pair<'CredentialUpdate', CredentialUpdateDto>('CredentialUpdate', CredentialUpdateDto),
  pair<'ProviderInstanceUpdate', ProviderInstanceUpdateDto>(
    'ProviderInstanceUpdate',
    ProviderInstanceUpdateDto,
    INSTANCE_BODIES,
  ),
  pair<'BillingSettingsUpdate', BillingSettingsUpdateDto>('BillingSettingsUpdate', BillingSettingsUpdateDto),
  pair<'PurchaseCreation', PurchaseCreationDto>('PurchaseCreation', PurchaseCreationDto, PURCHASE_BODIES),
];

describePairs(PAIRS, 'dashboard');

describe('requests of the dashboard', () => {
  it('all have a DTO that is compared with their schema', () => {
    const document = openapiDocument('dashboard');
    const schemas = operationsOf(document).flatMap(({ node }) => {
      // Signed machine payloads are specified by the vendor and parsed by its library.
      if (node.value['x-access'] === 'machine') return [];
      const content = childOf(document, node, 'requestBody', 'content', 'application/json')?.value.schema;
      return isObject(content) ? [String(content.$ref).split('/').at(-1)] : [];
    });
    expect(new Set(PAIRS.map(({ schema }) => schema))).toEqual(new Set(schemas));
  });
});
