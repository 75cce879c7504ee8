import type { Command } from 'commander';
import { COMMAND_LINE } from '../../core/types/actor';
import type { Role } from '../../core/types/role';
import { MemberService } from '../../dashboard/organizations/member.service';
import type { OrganizationMember } from '../../dashboard/organizations/membership.repository';
import { withContext } from '../cli-context';
import { formatTable, run, type CommandResult } from '../command-result';
import { parseId, parseRole } from '../option-parsers';

const PAGE_SIZE = 100;

interface OrganizationOptions {
  readonly org: string;
}

interface MemberOptions extends OrganizationOptions {
  readonly user: string;
}

interface RoleOptions extends MemberOptions {
  readonly role: Role;
}

export function addMemberCommands(program: Command): void {
  const member = program.command('member').description('manage the members of an organization');

  organizationCommand(member, 'list', 'list the members of an organization').action(run(listMembers));
  memberCommand(member, 'role', 'change the role of a member')
    .requiredOption('--role <role>', 'owner, admin, developer or viewer', parseRole)
    .action(run(setRole));
  memberCommand(member, 'remove', 'remove a member; the last owner cannot be removed').action(run(removeMember));
}

function organizationCommand(parent: Command, name: string, description: string): Command {
  return parent.command(name).description(description).requiredOption('--org <id>', 'organization id', parseId);
}

function memberCommand(parent: Command, name: string, description: string): Command {
  return organizationCommand(parent, name, description).requiredOption('--user <id>', 'user id of the member', parseId);
}

function listMembers({ org }: OrganizationOptions): Promise<CommandResult> {
  return withContext(async ({ dataSource, organizations }) => {
    await organizations.require(org);
    const members = await readAll(new MemberService(dataSource), org);
    return {
      text: formatTable(
        ['USER', 'ROLE', 'JOINED', 'EMAIL', 'NAME'],
        members.map(({ userId, role, createdAt, email, name }) => [userId, role, createdAt.toISOString(), email, name]),
        'The organization has no members.',
      ),
      json: { members: members.map(toRecord) },
    };
  });
}

async function readAll(members: MemberService, organizationId: string): Promise<OrganizationMember[]> {
  const all: OrganizationMember[] = [];
  let cursor: string | null = null;
  do {
    const page = await members.page(organizationId, { limit: PAGE_SIZE, cursor });
    all.push(...page.items);
    cursor = page.nextCursor;
  } while (cursor !== null);
  return all;
}

function setRole({ org, user, role }: RoleOptions): Promise<CommandResult> {
  return withContext(async ({ dataSource }) => {
    const member = await new MemberService(dataSource).setRole(org, user, role, COMMAND_LINE);
    return { text: `${member.email} is ${role}.`, json: toRecord(member) };
  });
}

function removeMember({ org, user }: MemberOptions): Promise<CommandResult> {
  return withContext(async ({ dataSource }) => {
    await new MemberService(dataSource).remove(org, user, COMMAND_LINE);
    return { text: `User ${user} is no longer a member.`, json: { organization_id: org, user_id: user } };
  });
}

function toRecord({ userId, email, name, role, createdAt }: OrganizationMember) {
  return { user_id: userId, email, name, role, joined_at: createdAt.toISOString() };
}
