import { Injectable } from '@nestjs/common';
import { SecretBox } from '../common/secret-box';
import { WebhookSecretRepository } from './webhook-secret.repository';
import { makeWebhookSecret } from './webhook-signature';

/** What the webhooks of an organization are signed with. Read for every attempt: a rotation holds from the next one on. */
@Injectable()
export class WebhookSecretService {
  constructor(
    private readonly repository: WebhookSecretRepository,
    private readonly box: SecretBox,
  ) {}

  /**
   * The organization's secret, `whsec_…`; made when it is first needed. Everybody who asks at once gets the same.
   * @throws SecretBoxError when `SECRETS_KEY` is not the one that it was stored under.
   */
  async require(organizationId: string): Promise<string> {
    const purpose = purposeOf(organizationId);
    let sealed = await this.repository.find(organizationId);
    if (sealed === null) {
      await this.repository.create(organizationId, this.box.seal(makeWebhookSecret(), purpose));
      sealed = await this.repository.find(organizationId);
    }
    if (sealed === null) throw new Error('the webhook secret vanished while it was made');
    return this.box.open(sealed, purpose);
  }

  /** A new secret. The former one signs nothing from then on, since the contract has room for one signature. */
  async rotate(organizationId: string): Promise<string> {
    const secret = makeWebhookSecret();
    await this.repository.replace(organizationId, this.box.seal(secret, purposeOf(organizationId)));
    return secret;
  }
}

function purposeOf(organizationId: string): string {
  return `webhook secret of organization ${organizationId}`;
}
