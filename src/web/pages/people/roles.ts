import type { Member } from '../../../contract/dashboard';
import { mayActAs, type Role } from '../../api/session';

export const ROLES: readonly Role[] = ['viewer', 'developer', 'admin', 'owner'];

/** One sentence for each role. */
export const ROLE_TEXTS: Readonly<Record<Role, string>> = {
  viewer: 'Can view usage, requests, jobs, webhooks, API keys, members and the balance.',
  developer: 'Can also manage API keys, use the playground and Explain, cancel and delete jobs, and resend webhooks.',
  admin: 'Can also manage members, buy credit, and view the ledger, the audit log and the webhook secret.',
  owner: 'Can also manage owners and the spending limit.',
};

/** Roles that a member may give, and whose holders the member may change: admins any but owner. */
export function mayManage(own: Role, other: Role): boolean {
  return mayActAs(own, 'admin') && mayActAs(own, other);
}

/** The name with the address, because two members can have the same name. */
export function memberLabel({ name, email }: Member): string {
  return `${name} (${email})`;
}

/** The choices of a select, the most careful first. */
export function grantableRoles(own: Role): ReadonlyArray<readonly [Role, string]> {
  return ROLES.filter((role) => mayManage(own, role)).map((role) => [role, role]);
}

export function toRole(text: string | undefined): Role {
  return ROLES.find((role) => role === text) ?? 'viewer';
}
