import type { AuditFilter } from '../../api/people';
import { dayOf, textOf, uuidOf } from '../../app/search-values';

/** The filter in the address of the audit log; what the API would refuse is ignored. */
export function parseAuditFilter({ action, actor, from, until }: Record<string, unknown>): AuditFilter {
  return { action: textOf(action, 100), actor: uuidOf(actor), from: dayOf(from), until: dayOf(until) };
}

/** Changes that an organization can have, in words. */
export const ACTION_TEXTS: Readonly<Record<string, string>> = {
  'key.created': 'API key created',
  'key.updated': 'API key changed',
  'key.disabled': 'API key disabled',
  'key.enabled': 'API key enabled',
  'key.rotated': 'API key replaced',
  'key.revoked': 'API key revoked',
  'playground_key.issued': 'Playground key issued',
  'user.created': 'User created',
  'member.updated': 'Role changed',
  'member.removed': 'Member removed',
  'member.left': 'Member left',
  'invitation.created': 'Invitation sent',
  'invitation.accepted': 'Invitation accepted',
  'invitation.deleted': 'Invitation withdrawn',
  'organization.created': 'Organization created',
  'organization.updated': 'Organization renamed',
  'organization.limits_updated': 'Limits changed',
  'organization.suspended': 'Organization suspended',
  'organization.activated': 'Organization activated',
  'billing_settings.updated': 'Billing settings changed',
  'balance.credited': 'Credit added',
  'balance.adjusted': 'Balance adjusted',
  'purchase.created': 'Purchase started',
  'purchase.canceled': 'Purchase canceled',
  'purchase.expired': 'Purchase expired',
  'purchase.failed': 'Purchase failed',
  'purchase.reviewed': 'Payment reviewed',
  'payment.received': 'Payment event',
  'job.canceled': 'Job canceled',
  'job.deleted': 'Job deleted',
  'webhook_secret.revealed': 'Webhook secret revealed',
  'webhook_secret.rotated': 'Webhook secret rotated',
  'webhook_delivery.redelivered': 'Webhook resent',
  'webhook_test.sent': 'Test webhook sent',
};

/** The action in words; its code for one that is not known here. */
export function actionText(action: string): string {
  return ACTION_TEXTS[action] ?? action;
}
