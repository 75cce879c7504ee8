import type { Command } from 'commander';
import type { EntityManager } from 'typeorm';
import { replacePepper } from '../../auth/api-keys/pepper-check';
import { type AuditRecord, recordAudit } from '../../core/database/audit-log';
import { readDeploymentId, renewDeploymentId } from '../../core/redis/deployment-identity';
import { resolveApiKeyPepper } from '../../core/secrets/service-secrets';
import { COMMAND_LINE } from '../../core/types/actor';
import { type CliContext, withContext } from '../cli-context';
import { run, type CommandResult } from '../command-result';

/** @param group the commands of deployments */
export function addDeploymentCommands(group: Command): void {
  group
    .command('renew')
    .description('give a restored copy of a gateway its own keys in a shared Redis; restart its processes afterwards')
    .action(run(renew));
  group
    .command('accept-pepper')
    .description('accept a changed API_KEY_PEPPER; keys from before stay refused, so create new ones')
    .action(run(acceptPepper));
}

async function renew(): Promise<CommandResult> {
  const id = await withTransaction(async (manager) => {
    const before = await readDeploymentId(manager);
    const after = await renewDeploymentId(manager);
    const change = { before: { id: before }, after: { id: after } };
    await recordAudit(manager, { ...entryOf(after), action: 'identity.renewed', ...change });
    return after;
  });
  return { text: `The deployment is now ${id}. Restart its gateways and workers.`, json: { id } };
}

async function acceptPepper(): Promise<CommandResult> {
  await withTransaction(async (manager, config) => {
    await replacePepper(manager, resolveApiKeyPepper(config));
    await recordAudit(manager, { ...entryOf(await readDeploymentId(manager)), action: 'pepper.accepted' });
  });
  return { text: 'API_KEY_PEPPER is accepted. Keys that were created with another one are refused.', json: {} };
}

function withTransaction<Result>(
  work: (manager: EntityManager, config: CliContext['config']) => Promise<Result>,
): Promise<Result> {
  return withContext(({ dataSource, config }) => dataSource.transaction((manager) => work(manager, config)));
}

function entryOf(deploymentId: string): Omit<AuditRecord, 'action'> {
  return { organizationId: null, actor: COMMAND_LINE, target: { type: 'gateway', id: deploymentId } };
}
