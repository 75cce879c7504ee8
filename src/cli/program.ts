import { Command } from 'commander';
import { addKeyCommands } from './commands/key.commands';
import { addOperationCommands } from './commands/operation.commands';
import { addOrganizationCommands } from './commands/organization.commands';

/** Every command there is. Parsing throws `CommanderError` instead of ending the process. */
export function createProgram(): Command {
  const program = new Command('gateway')
    .description('Administers the gateway: organizations, API keys, model catalogue, books, database.')
    .option('--json', 'print one JSON document instead of text')
    .configureHelp({ showGlobalOptions: true })
    .exitOverride();
  addOrganizationCommands(program);
  addKeyCommands(program);
  addOperationCommands(program);
  return program;
}
