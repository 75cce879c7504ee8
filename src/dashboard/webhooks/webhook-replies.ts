import type { components } from '../../contract/dashboard';
import type { WebhookAttempt, WebhookDelivery } from '../../webhooks/webhook-log.repository';
import type { WebhookSecretFacts } from '../../webhooks/webhook-secret.repository';
import type { RevealedSecret } from '../../webhooks/webhook-secret.service';

type Schemas = components['schemas'];

export function toWebhookDelivery(delivery: WebhookDelivery): Schemas['WebhookDelivery'] {
  return {
    id: delivery.id,
    object: 'webhook_delivery',
    job_id: delivery.jobId,
    event: delivery.event,
    url: delivery.url,
    state: delivery.state,
    attempts: delivery.attempts,
    next_attempt_at: delivery.nextAttemptAt?.toISOString() ?? null,
    last_status: delivery.lastStatus,
    last_error: delivery.lastError,
    created_at: delivery.createdAt.toISOString(),
    ended_at: delivery.endedAt?.toISOString() ?? null,
  };
}

export function toWebhookAttempt(attempt: WebhookAttempt): Schemas['WebhookAttempt'] {
  return {
    number: attempt.number,
    started_at: attempt.startedAt.toISOString(),
    status: attempt.status,
    error: attempt.error,
    duration_ms: attempt.durationMs,
  };
}

/** @param facts `null`: no secret */
export function toWebhookSecret(facts: WebhookSecretFacts | null): Schemas['WebhookSecret'] {
  return {
    object: 'webhook_secret',
    exists: facts !== null,
    created_at: facts?.createdAt.toISOString() ?? null,
    revealed_at: facts?.revealedAt?.toISOString() ?? null,
  };
}

export function toRevealedSecret({ secret, createdAt, revealedAt }: RevealedSecret): Schemas['RevealedWebhookSecret'] {
  return {
    object: 'webhook_secret',
    secret,
    created_at: createdAt.toISOString(),
    revealed_at: revealedAt.toISOString(),
  };
}
