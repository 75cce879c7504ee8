import { Command } from 'commander';
import { addCredentialCommands } from './commands/credential.commands';
import { addKeyCommands } from './commands/key.commands';
import { addLedgerCommands } from './commands/ledger.commands';
import { addMemberCommands } from './commands/member.commands';
import { addOperationCommands } from './commands/operation.commands';
import { addOperatorCommands } from './commands/operator.commands';
import { addOrganizationCommands } from './commands/organization.commands';
import { addPurchaseCommands } from './commands/purchase.commands';
import { addUsageCommands } from './commands/usage.commands';
import { addUserCommands } from './commands/user.commands';
import { addWebhookCommands } from './commands/webhook.commands';

/** All commands. Parsing throws `CommanderError` instead of exiting. */
export function createProgram(): Command {
  const program = new Command('gateway')
    .description('Administers the gateway: organizations, API keys, users, model catalogue, ledger, database.')
    .option('--json', 'print one JSON document instead of text')
    .configureHelp({ showGlobalOptions: true })
    .exitOverride();
  addOrganizationCommands(program);
  addMemberCommands(program);
  addKeyCommands(program);
  addUserCommands(program);
  addOperationCommands(program);
  addLedgerCommands(program);
  addOperatorCommands(program);
  addCredentialCommands(program);
  addPurchaseCommands(program);
  addUsageCommands(program);
  addWebhookCommands(program);
  return program;
}
