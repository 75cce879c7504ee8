import { type Command, Option } from 'commander';
import { COMMAND_LINE } from '../../core/types/actor';
import { uuidV7 } from '../../core/types/ids';
import { toWebhookAttempt, toWebhookDelivery } from '../../dashboard/webhooks/webhook-replies';
import { GuardedClient } from '../../core/outbound/guarded-client';
import { type WebhookDelivery, WebhookLogRepository } from '../../webhooks/webhook-log.repository';
import { WebhookLogService } from '../../webhooks/webhook-log.service';
import { DELIVERY_STATES, type DeliveryState } from '../../webhooks/webhook.types';
import { type CliContext, withContext } from '../cli-context';
import { type CommandResult, formatFields, formatTable, run } from '../command-result';
import { parseId, parseText } from '../option-parsers';

/** The dashboard shows more, page by page. */
const LISTED = 50;

export function addWebhookCommands(program: Command): void {
  const webhook = program.command('webhook').description('show and redeliver webhook deliveries, send test events');
  webhookCommand(webhook, 'list', `list the last ${LISTED} deliveries`)
    .addOption(new Option('--state <state>', 'only deliveries in this state').choices(DELIVERY_STATES))
    .action(run(listDeliveries));
  webhookCommand(webhook, 'show', 'show a delivery and its attempts')
    .requiredOption('--delivery <id>', 'delivery id', parseId)
    .action(run(showDelivery));
  webhookCommand(webhook, 'redeliver', 'redeliver a webhook')
    .requiredOption('--delivery <id>', 'delivery id', parseId)
    .action(run(redeliver));
  webhookCommand(webhook, 'test', 'send a test event')
    .requiredOption('--url <url>', 'public https URL of the receiver', parseText)
    .action(run(sendTest));
}

function webhookCommand(parent: Command, name: string, description: string): Command {
  return parent.command(name).description(description).requiredOption('--org <id>', 'organization id', parseId);
}

interface OrganizationOption {
  readonly org: string;
}
interface DeliveryOptions extends OrganizationOption {
  readonly delivery: string;
}

function listDeliveries({ org, state }: OrganizationOption & { readonly state?: DeliveryState }) {
  return withWebhooks(org, async (webhooks) => {
    const { items } = await webhooks.list(org, { state }, { limit: LISTED, cursor: null });
    const rows = items.map((each) => [
      each.id,
      each.event,
      each.state,
      String(each.attempts),
      lastOf(each),
      each.createdAt.toISOString(),
    ]);
    return {
      text: formatTable(['DELIVERY', 'EVENT', 'STATE', 'ATTEMPTS', 'LAST', 'CREATED'], rows, 'No deliveries.'),
      json: items.map(toWebhookDelivery),
    };
  });
}

function showDelivery({ org, delivery: id }: DeliveryOptions): Promise<CommandResult> {
  return withWebhooks(org, async (webhooks) => {
    const { log, ...delivery } = await webhooks.get(org, id);
    const attempts = log.map(({ number, startedAt, status, error, durationMs }) => [
      String(number),
      startedAt.toISOString(),
      String(status ?? '-'),
      error ?? 'delivered',
      `${durationMs} ms`,
    ]);
    const table = formatTable(['ATTEMPT', 'STARTED', 'STATUS', 'OUTCOME', 'DURATION'], attempts, 'No attempts yet.');
    return {
      text: `${describe(delivery)}\n\n${table}`,
      json: { delivery: toWebhookDelivery(delivery), attempts: log.map(toWebhookAttempt) },
    };
  });
}

function redeliver({ org, delivery: id }: DeliveryOptions): Promise<CommandResult> {
  return withWebhooks(org, async (webhooks) => toResult(await webhooks.redeliver(org, id, COMMAND_LINE)));
}

function sendTest({ org, url }: OrganizationOption & { readonly url: string }): Promise<CommandResult> {
  return withWebhooks(org, async (webhooks, { clock }) =>
    toResult(await webhooks.sendTest(org, url, uuidV7(clock.now()), COMMAND_LINE)),
  );
}

/** @throws GatewayError `not_found` for an unknown organization */
function withWebhooks(
  organizationId: string,
  work: (webhooks: WebhookLogService, context: CliContext) => Promise<CommandResult>,
): Promise<CommandResult> {
  return withContext(async (context) => {
    const { dataSource, config, organizations } = context;
    await organizations.require(organizationId);
    return work(
      // Sends no wake-up: delivering processes find the delivery within a second.
      new WebhookLogService(new WebhookLogRepository(dataSource), new GuardedClient(config.outbound), {
        wake: () => Promise.resolve(),
      }),
      context,
    );
  });
}

function toResult(delivery: WebhookDelivery): CommandResult {
  return { text: describe(delivery), json: toWebhookDelivery(delivery) };
}

function describe(delivery: WebhookDelivery): string {
  return formatFields([
    ['Delivery', delivery.id],
    ['Event', delivery.event],
    ['Job', delivery.jobId ?? '-'],
    ['URL', delivery.url],
    ['State', delivery.state],
    ['Attempts', `${delivery.attempts}, last: ${lastOf(delivery)}`],
    ['Next attempt', delivery.nextAttemptAt?.toISOString() ?? '-'],
  ]);
}

function lastOf({ lastStatus, lastError }: WebhookDelivery): string {
  return [lastStatus, lastError].filter((part) => part !== null).join(' ') || '-';
}
