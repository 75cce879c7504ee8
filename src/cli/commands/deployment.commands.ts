import type { Command } from 'commander';
import { replacePepper } from '../../auth/api-keys/pepper-check';
import { renewDeploymentId } from '../../core/redis/deployment-identity';
import { resolveApiKeyPepper } from '../../core/secrets/service-secrets';
import { withContext } from '../cli-context';
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
  const id = await withContext(({ dataSource }) => renewDeploymentId(dataSource));
  return { text: `The deployment is now ${id}. Restart its gateways and workers.`, json: { id } };
}

async function acceptPepper(): Promise<CommandResult> {
  await withContext(({ dataSource, config }) => replacePepper(dataSource, resolveApiKeyPepper(config)));
  return { text: 'API_KEY_PEPPER is accepted. Keys that were created with another one are refused.', json: {} };
}
