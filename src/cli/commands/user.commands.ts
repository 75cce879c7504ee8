import { text } from 'node:stream/consumers';
import type { Command } from 'commander';
import { PasswordHasher } from '../../dashboard/accounts/password-hasher';
import { SessionService } from '../../dashboard/accounts/session.service';
import { generatePassword, UserAdministrationService } from '../../dashboard/accounts/user-administration.service';
import { COMMAND_LINE } from '../../core/types/actor';
import { ROLES, type Role } from '../../core/types/role';
import type { UserAccountEntity } from '../../core/database/entities/user-account.entity';
import { CliError, withContext, type CliContext } from '../cli-context';
import { formatFields, formatTable, run, type CommandResult } from '../command-result';
import { parseId, parseRole, parseText } from '../option-parsers';

const SHOWN_ONCE = 'The password is shown only once.';

interface UserOptions {
  readonly email: string;
}

interface PasswordOptions extends UserOptions {
  readonly passwordStdin?: boolean;
}

export function addUserCommands(program: Command): void {
  const user = program.command('user').description('manage dashboard users');

  withPassword(userCommand(user, 'create', 'create a verified account'))
    .requiredOption('--name <text>', 'display name', parseText)
    .option('--operator', 'make the user an operator')
    .option('--org <id>', 'add the user to this organization', parseId)
    .option('--role <role>', `role in that organization: ${ROLES.join(', ')}`, parseRole, 'owner')
    .action(run(createUser));
  user.command('list').description('list all accounts').action(run(listUsers));
  userCommand(user, 'disable', 'end all sessions of the user and refuse logins').action(
    run((options: UserOptions) => changeUser((users) => users.disable(options.email, COMMAND_LINE))),
  );
  userCommand(user, 'enable', 'allow logins of the user again').action(
    run((options: UserOptions) => changeUser((users) => users.enable(options.email, COMMAND_LINE))),
  );
  userCommand(user, 'operator', 'grant or revoke operator rights')
    .option('--grant', 'make the user an operator')
    .option('--revoke', 'revoke operator rights')
    .action(run(setOperator));
  withPassword(userCommand(user, 'password', 'set a new password and end all sessions')).action(run(setPassword));
}

function userCommand(parent: Command, name: string, description: string): Command {
  return parent
    .command(name)
    .description(description)
    .requiredOption('--email <address>', 'e-mail of the user', parseText);
}

function withPassword(command: Command): Command {
  return command.option('--password-stdin', 'read the password from standard input instead of generating one');
}

interface CreateOptions extends PasswordOptions {
  readonly name: string;
  readonly operator?: boolean;
  readonly org?: string;
  readonly role: Role;
}

async function createUser({ email, name, operator = false, org, role, passwordStdin }: CreateOptions) {
  const { password, isGenerated } = await choosePassword(passwordStdin);
  return withContext(async (context): Promise<CommandResult> => {
    const membership = org === undefined ? null : { organizationId: org, role };
    const input = { email, name, password, isOperator: operator, membership };
    const user = await usersOf(context).create(input, COMMAND_LINE);
    return describeWithPassword(user, isGenerated ? password : null);
  });
}

function listUsers(): Promise<CommandResult> {
  return withContext(async (context) => {
    const users = await usersOf(context).list();
    return {
      text: formatTable(
        ['ID', 'STATUS', 'OPERATOR', 'CREATED', 'EMAIL', 'NAME'],
        users.map((user) => [
          user.id,
          statusOf(user),
          user.isOperator ? 'yes' : 'no',
          user.createdAt.toISOString(),
          user.email,
          user.name,
        ]),
        'No users.',
      ),
      json: { users: users.map(toRecord) },
    };
  });
}

interface OperatorOptions extends UserOptions {
  readonly grant?: boolean;
  readonly revoke?: boolean;
}

async function setOperator({ email, grant = false, revoke = false }: OperatorOptions): Promise<CommandResult> {
  if (grant === revoke) throw new CliError('Specify either --grant or --revoke.');
  return changeUser((users) => users.setOperator(email, grant, COMMAND_LINE));
}

async function setPassword({ email, passwordStdin }: PasswordOptions): Promise<CommandResult> {
  const { password, isGenerated } = await choosePassword(passwordStdin);
  return withContext(async (context) => {
    const user = await usersOf(context).setPassword(email, password, COMMAND_LINE);
    return describeWithPassword(user, isGenerated ? password : null);
  });
}

/** Never an option: other users of the host can read process arguments. */
async function choosePassword(fromStdin = false): Promise<{ password: string; isGenerated: boolean }> {
  if (!fromStdin) return { password: generatePassword(), isGenerated: true };
  return { password: (await text(process.stdin)).replace(/\r?\n$/, ''), isGenerated: false };
}

function changeUser(change: (users: UserAdministrationService) => Promise<UserAccountEntity>): Promise<CommandResult> {
  return withContext(async (context) => {
    const user = await change(usersOf(context));
    const staff = user.isOperator ? ', operator' : '';
    return { text: `User ${user.email} is ${statusOf(user)}${staff}.`, json: toRecord(user) };
  });
}

function usersOf({ config, clock, dataSource }: CliContext): UserAdministrationService {
  const sessions = new SessionService(dataSource, clock, config);
  return new UserAdministrationService(dataSource, clock, new PasswordHasher(), sessions);
}

function describeWithPassword(user: UserAccountEntity, password: string | null): CommandResult {
  const fields = formatFields([
    ['User', `${user.email} (${user.id})`],
    ['Operator', user.isOperator ? 'yes' : 'no'],
    ...(password === null ? [] : [['Password', password] as const]),
  ]);
  return {
    text: password === null ? fields : `${fields}\n${SHOWN_ONCE}`,
    json: { ...toRecord(user), ...(password !== null && { password }) },
  };
}

function statusOf({ status, emailVerifiedAt }: UserAccountEntity): string {
  return status === 'active' && emailVerifiedAt === null ? 'unverified' : status;
}

function toRecord(user: UserAccountEntity) {
  return {
    id: user.id,
    email: user.email,
    name: user.name,
    status: statusOf(user),
    is_operator: user.isOperator,
    created_at: user.createdAt.toISOString(),
    last_login_at: user.lastLoginAt?.toISOString() ?? null,
  };
}
