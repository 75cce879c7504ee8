import { Injectable } from '@nestjs/common';
import { recordAudit } from '../core/database/audit-log';
import type { Actor } from '../core/types/actor';
import { GatewayError } from '../core/errors/gateway-error';
import { SecretBox, SecretBoxError } from '../core/secrets/secret-box';
import {
  type RevealedSecretFacts,
  type WebhookSecretFacts,
  webhookSecretPurpose,
  WebhookSecretRepository,
} from './webhook-secret.repository';
import { makeWebhookSecret } from './webhook-signature';

/** A secret in plain text, for the one response that shows it. */
export interface RevealedSecret extends RevealedSecretFacts {
  /** `whsec_…` */
  readonly secret: string;
}

/** The signing secret of an organization. Read for every attempt: a rotation applies from the next one on. */
@Injectable()
export class WebhookSecretService {
  constructor(
    private readonly repository: WebhookSecretRepository,
    private readonly box: SecretBox,
  ) {}

  /**
   * The organization's secret, `whsec_…`, created on first use. Concurrent callers get the same one.
   * @throws SecretBoxError when `SECRETS_KEY` is not the one that it was stored under.
   */
  async require(organizationId: string): Promise<string> {
    let sealed = await this.repository.find(organizationId);
    if (sealed === null) {
      await this.repository.create(organizationId, this.seal(organizationId, makeWebhookSecret()));
      sealed = await this.repository.find(organizationId);
    }
    if (sealed === null) throw new Error('the webhook secret is missing after its creation');
    return this.unsealSecret(organizationId, sealed);
  }

  /** `null`: no secret exists yet. */
  describe(organizationId: string): Promise<WebhookSecretFacts | null> {
    return this.repository.describe(organizationId);
  }

  /**
   * Returns the secret, once; creates it if needed.
   * @throws GatewayError `conflict` when it was already revealed, or was stored under another `SECRETS_KEY`
   */
  reveal(organizationId: string, actor: Actor): Promise<RevealedSecret> {
    return this.repository.transaction(async (manager) => {
      await this.repository.create(organizationId, this.seal(organizationId, makeWebhookSecret()), manager);
      const revealed = await this.repository.reveal(manager, organizationId);
      if (revealed === null) {
        throw new GatewayError('conflict', 'The webhook secret has already been shown. Rotate it to get a new one.');
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

  /** Replaces the secret at once: the contract has room for one signature, so the old secret no longer signs. */
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

  private unsealSecret(organizationId: string, sealed: string): string {
    return this.box.unseal(sealed, webhookSecretPurpose(organizationId));
  }

  private openForReveal(organizationId: string, sealed: string): string {
    try {
      return this.unsealSecret(organizationId, sealed);
    } catch (cause) {
      if (!(cause instanceof SecretBoxError)) throw cause;
      throw new GatewayError('conflict', 'The webhook secret can no longer be decrypted. Rotate it to get a new one.', {
        cause,
      });
    }
  }
}
