import { Injectable } from '@nestjs/common';
import { recordAudit } from '../audit/audit-log';
import type { Actor } from '../common/actor';
import { GatewayError } from '../common/errors/gateway-error';
import { SecretBox, SecretBoxError } from '../common/secret-box';
import { type ToldSecretFacts, type WebhookSecretFacts, WebhookSecretRepository } from './webhook-secret.repository';
import { makeWebhookSecret } from './webhook-signature';

/** A secret, for the one moment in which it is told. */
export interface RevealedSecret extends ToldSecretFacts {
  /** `whsec_…` */
  readonly secret: string;
}

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
    let sealed = await this.repository.find(organizationId);
    if (sealed === null) {
      await this.repository.create(organizationId, this.seal(organizationId, makeWebhookSecret()));
      sealed = await this.repository.find(organizationId);
    }
    if (sealed === null) throw new Error('the webhook secret vanished while it was made');
    return this.open(organizationId, sealed);
  }

  /** `null`: none was needed so far. */
  describe(organizationId: string): Promise<WebhookSecretFacts | null> {
    return this.repository.describe(organizationId);
  }

  /**
   * Tells the secret, once; makes it when there is none.
   * @throws GatewayError `conflict` when it was told before, or was stored under another `SECRETS_KEY`
   */
  reveal(organizationId: string, actor: Actor): Promise<RevealedSecret> {
    return this.repository.transaction(async (manager) => {
      await this.repository.create(organizationId, this.seal(organizationId, makeWebhookSecret()), manager);
      const revealed = await this.repository.reveal(manager, organizationId);
      if (revealed === null) {
        throw new GatewayError('conflict', 'The webhook secret has been shown. Rotate it to get another one.');
      }
      const { sealed, ...facts } = revealed;
      const secret = this.openForReveal(organizationId, sealed);
      await recordAudit(manager, {
        organizationId,
        actor,
        action: 'webhook_secret.revealed',
        target: { type: 'webhook_secret', id: organizationId },
        before: { revealed_at: null },
        after: { revealed_at: facts.revealedAt },
      });
      return { ...facts, secret };
    });
  }

  /** A new secret. The former one signs nothing from then on, since the contract has room for one signature. */
  rotate(organizationId: string, actor: Actor): Promise<RevealedSecret> {
    const secret = makeWebhookSecret();
    return this.repository.transaction(async (manager) => {
      const facts = await this.repository.replace(manager, organizationId, this.seal(organizationId, secret));
      await recordAudit(manager, {
        organizationId,
        actor,
        action: 'webhook_secret.rotated',
        target: { type: 'webhook_secret', id: organizationId },
        after: { created_at: facts.createdAt },
      });
      return { ...facts, secret };
    });
  }

  private seal(organizationId: string, secret: string): string {
    return this.box.seal(secret, webhookSecretPurpose(organizationId));
  }

  private open(organizationId: string, sealed: string): string {
    return this.box.open(sealed, webhookSecretPurpose(organizationId));
  }

  private openForReveal(organizationId: string, sealed: string): string {
    try {
      return this.open(organizationId, sealed);
    } catch (cause) {
      if (!(cause instanceof SecretBoxError)) throw cause;
      throw new GatewayError('conflict', 'The webhook secret cannot be read any more. Rotate it to get another one.', {
        cause,
      });
    }
  }
}

/** What a secret of an organization is sealed for. */
export function webhookSecretPurpose(organizationId: string): string {
  return `webhook secret of organization ${organizationId}`;
}
