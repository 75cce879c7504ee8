import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { decodeCursor } from '../../core/types/cursor';
import { textOfTime, toPage } from '../../core/types/page';
import type { UserStatus } from '../../core/database/entities/user-account.entity';
import { userNotFound } from './user-rows';

/** A user as operators see it. */
export interface UserSummary {
  readonly id: string;
  readonly email: string;
  readonly name: string;
  readonly status: UserStatus;
  readonly isOperator: boolean;
  readonly emailVerifiedAt: Date | null;
  readonly lastLoginAt: Date | null;
  readonly createdAt: Date;
  /** Number of memberships. */
  readonly organizations: number;
}

export interface UserPage {
  readonly items: readonly UserSummary[];
  readonly nextCursor: string | null;
}

/** `null` does not filter. */
export interface UserFilter {
  /** Part of the e-mail, case-insensitive. */
  readonly search: string | null;
  readonly status: UserStatus | null;
}

type Row = Omit<UserSummary, 'organizations'> & { readonly createdAtText: string; readonly organizations: string };

const COLUMNS = `
  SELECT u.id, u.email, u.name, u.status, u.is_operator AS "isOperator", u.email_verified_at AS "emailVerifiedAt",
         u.last_login_at AS "lastLoginAt", u.created_at AS "createdAt",
         ${textOfTime('u.created_at')} AS "createdAtText",
         (SELECT count(*) FROM organization_member m WHERE m.user_id = u.id)::text AS organizations
    FROM user_account u`;

/** Sorts all matching users: operators list them rarely. */
const FIND = `${COLUMNS}
   WHERE ($1::text IS NULL OR position(lower($1) IN lower(u.email)) > 0)
     AND ($2::text IS NULL OR u.status = $2)
     AND ($3::timestamptz IS NULL OR (u.created_at, u.id) < ($3::timestamptz, $4::uuid))
   ORDER BY u.created_at DESC, u.id DESC LIMIT $5`;

/** All users, for operators. */
@Injectable()
export class UserDirectoryService {
  constructor(private readonly dataSource: DataSource) {}

  /**
   * Newest first.
   * @throws GatewayError `validation_failed` for an invalid cursor.
   */
  async list(
    { search, status }: UserFilter,
    { limit, cursor }: { readonly limit: number; readonly cursor: string | null },
  ): Promise<UserPage> {
    const after = cursor === null ? null : decodeCursor(cursor, ['time', 'uuid']);
    const rows = await this.dataSource.query<Row[]>(FIND, [
      search,
      status,
      after?.[0] ?? null,
      after?.[1] ?? null,
      limit + 1,
    ]);
    const { items, nextCursor } = toPage(rows, limit, ({ createdAtText, id }) => [createdAtText, id]);
    return { items: items.map(toSummary), nextCursor };
  }

  /** @throws GatewayError `not_found`. */
  async require(userId: string): Promise<UserSummary> {
    const [row] = await this.dataSource.query<Row[]>(`${COLUMNS} WHERE u.id = $1`, [userId]);
    if (row === undefined) throw userNotFound();
    return toSummary(row);
  }
}

function toSummary({ createdAtText: _text, organizations, ...user }: Row): UserSummary {
  return { ...user, organizations: Number(organizations) };
}
