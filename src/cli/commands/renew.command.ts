import type { Command } from 'commander';
import { renewDeploymentId } from '../../core/redis/deployment-identity';
import { withContext } from '../cli-context';
import { run, type CommandResult } from '../command-result';

/** @param group the commands of deployments */
export function addRenewCommand(group: Command): void {
  group
    .command('renew')
    .description('give a restored copy of a gateway its own keys in a shared Redis; restart its processes afterwards')
    .action(run(renew));
}

async function renew(): Promise<CommandResult> {
  const id = await withContext(({ dataSource }) => renewDeploymentId(dataSource));
  return { text: `The deployment is now ${id}. Restart its gateways and workers.`, json: { id } };
}
