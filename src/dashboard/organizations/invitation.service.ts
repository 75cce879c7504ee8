import { Inject, Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { recordAudit } from '../../core/database/audit-log';
import type { Actor } from '../../core/types/actor';
import { CLOCK, type Clock } from '../../core/time/clock';
import { decodeCursor } from '../../core/types/cursor';
import { parseEmailAddress } from '../../core/types/email-address';
import { GatewayError } from '../../core/errors/gateway-error';
import { uuidV7 } from '../../core/types/ids';
import type { Role } from '../../core/types/role';
import { digestToken, generateToken, hasTokenShape } from '../../core/secrets/secret-token';
import { toPage, type Page, type PageRequest } from '../../core/types/page';
import { OrganizationInvitationEntity } from '../../core/database/entities/organization-invitation.entity';
import { OrganizationMemberEntity } from '../../core/database/entities/organization-member.entity';
import { dashboardLink } from '../../core/mail/dashboard-link';
import { type Mail, Mailer } from '../../core/mail/mailer';
import { quotedName } from '../../core/mail/quoted-name';
import {
  deleteInvitation,
  findInvitations,
  isMember,
  putInvitation,
  takeInvitation,
  type StoredInvitation,
} from './invitation.repository';
import { requireAuthority } from './member.service';
import { lockOrganization } from '../../auth/organization-access';
import { APP_CONFIG, type AppConfig } from '../../core/config/app-config';

/** Limits unsolicited mails. */
const MAX_INVITATIONS_PER_ORGANIZATION = 100;
const LIFETIME_MS = 7 * 24 * 3_600_000;

/** The accepting user, and the token from the mail. */
export interface Acceptance {
  readonly token: string;
  readonly userId: string;
  /** The user's e-mail address, which is verified. */
  readonly email: string;
}

/**
 * Invitations by mail: a single-use token, valid for seven days, makes the owner of the address a member. Only the
 * digest of the token is stored.
 */
@Injectable()
export class InvitationService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly mailer: Mailer,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(APP_CONFIG) private readonly config: AppConfig,
  ) {}

  /** Newest first, including expired ones. @throws GatewayError `validation_failed` for an invalid cursor. */
  async page(organizationId: string, { limit, cursor }: PageRequest): Promise<Page<StoredInvitation>> {
    const after = cursor === null ? null : decodeCursor(cursor, ['time', 'uuid']);
    const now = new Date(this.clock.now());
    const rows = await findInvitations(this.dataSource.manager, organizationId, after, limit + 1, now);
    return toPage(rows, limit, ({ createdAtText, id }) => [createdAtText, id]);
  }

  /**
   * Invites an address by mail. A repeated invitation gets a new token, role and expiry; the old token becomes invalid.
   * @throws GatewayError `validation_failed`, `not_found`, `forbidden`, `not_configured`, `conflict` when the address
   *   belongs to a member or the organization has too many invitations.
   */
  async create(
    organizationId: string,
    { email: text, role }: { readonly email: string; readonly role: Role },
    actor: Actor,
  ): Promise<StoredInvitation> {
    const address = parseEmailAddress(text);
    this.mailer.assertConfigured();
    const token = generateToken();
    const nowMs = this.clock.now();
    const times = { createdAt: new Date(nowMs), expiresAt: new Date(nowMs + LIFETIME_MS) };
    const { id, name } = await this.dataSource.transaction(async (manager) => {
      const { name } = await lockOrganization(manager, organizationId);
      const before = await this.requireRoom(manager, organizationId, address.emailKey);
      await requireAuthority(manager, organizationId, before === null ? [role] : [role, before.role], actor);
      const id = before?.id ?? uuidV7(nowMs);
      const invited = { id, organizationId, ...address, role, invitedBy: actor.userId, ...times };
      await putInvitation(manager, { ...invited, digest: digestToken(token) });
      // An acceptance does not lock the organization, so it may have committed while this call waited for the
      // invitation's row.
      await requireNoMember(manager, organizationId, address.emailKey);
      await record(manager, invited, 'invitation.created', actor, { after: { email: address.email, role } });
      return { id, name };
    });
    const invitation = { id, email: address.email, role, invitedBy: actor.userId, ...times, isOpen: true };
    await this.mailer.send(this.toMail(invitation, name, token));
    return invitation;
  }

  /** Withdraws the invitation, which invalidates its token. @throws GatewayError `not_found`, `forbidden`. */
  delete(organizationId: string, invitationId: string, actor: Actor): Promise<void> {
    return this.dataSource.transaction(async (manager) => {
      await lockOrganization(manager, organizationId);
      const invitation = await deleteInvitation(manager, organizationId, invitationId);
      if (invitation === null) throw invitationNotFound();
      await requireAuthority(manager, organizationId, [invitation.role], actor);
      const { email, role } = invitation;
      await record(manager, invitation, 'invitation.deleted', actor, { before: { email, role } });
    });
  }

  /**
   * Makes the user a member, in the caller's transaction. Consumes the invitation: of concurrent calls, one succeeds.
   * @throws GatewayError `not_found` when the token is not an open invitation of this address, `conflict` for a member.
   */
  async accept(
    manager: EntityManager,
    { token, userId, email }: Acceptance,
    actor: Actor,
  ): Promise<OrganizationMemberEntity> {
    if (!hasTokenShape(token)) throw invitationNotFound();
    const { emailKey } = parseEmailAddress(email);
    const invitation = await takeInvitation(manager, digestToken(token), emailKey, new Date(this.clock.now()));
    if (invitation === null) throw invitationNotFound();
    const { organizationId, role } = invitation;
    const known = await manager.existsBy(OrganizationMemberEntity, { organizationId, userId });
    if (known) throw new GatewayError('conflict', 'You are already a member of this organization.');
    await manager.insert(OrganizationMemberEntity, { organizationId, userId, role });
    await record(manager, invitation, 'invitation.accepted', actor, { after: { user_id: userId, role } });
    return manager.findOneByOrFail(OrganizationMemberEntity, { organizationId, userId });
  }

  /** As {@link accept}, in a new transaction. */
  acceptOwn(acceptance: Acceptance, actor: Actor): Promise<OrganizationMemberEntity> {
    return this.dataSource.transaction((manager) => this.accept(manager, acceptance, actor));
  }

  /** @returns the existing invitation of the address. @throws GatewayError `conflict`. */
  private async requireRoom(
    manager: EntityManager,
    organizationId: string,
    emailKey: string,
  ): Promise<OrganizationInvitationEntity | null> {
    await requireNoMember(manager, organizationId, emailKey);
    const before = await manager.findOneBy(OrganizationInvitationEntity, { organizationId, emailKey });
    const invitations = await manager.countBy(OrganizationInvitationEntity, { organizationId });
    if (before === null && invitations >= MAX_INVITATIONS_PER_ORGANIZATION) {
      const most = `which is the maximum. Withdraw one first.`;
      throw new GatewayError('conflict', `The organization has ${invitations} invitations, ${most}`);
    }
    return before;
  }

  private toMail({ email, role }: StoredInvitation, organizationName: string, token: string): Mail {
    return {
      to: email,
      // An attacker may have chosen the organization's name, so it is not in the subject.
      subject: 'You are invited to an organization',
      text: [
        `You are invited to the organization ${quotedName(organizationName)} with the role ${role}.`,
        `To accept, open this link within seven days and sign in, or register, as ${email}:`,
        dashboardLink(this.config, 'accept-invitation', token),
        'If you did not expect this invitation, ignore this mail.',
      ].join('\n\n'),
    };
  }
}

async function requireNoMember(manager: EntityManager, organizationId: string, emailKey: string): Promise<void> {
  if (await isMember(manager, organizationId, emailKey)) {
    throw new GatewayError('conflict', 'This address already belongs to a member.');
  }
}

function record(
  manager: EntityManager,
  { organizationId, id }: { readonly organizationId: string; readonly id: string },
  action: string,
  actor: Actor,
  change: { readonly before?: object; readonly after?: object },
): Promise<void> {
  return recordAudit(manager, { organizationId, actor, action, target: { type: 'invitation', id }, ...change });
}

/** The same for every token that cannot be used, so that it reveals nothing. */
export function invitationNotFound(): GatewayError {
  return new GatewayError('not_found', 'There is no such invitation.');
}
