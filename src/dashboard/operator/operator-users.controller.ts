import { Controller, Get, HttpCode, Param, Post, Query } from '@nestjs/common';
import { UserAdministrationService } from '../accounts/user-administration.service';
import { type UserSummary, UserDirectoryService } from '../accounts/user-directory.service';
import { requireUuid } from '../../core/types/require-uuid';
import { USER_STATUSES, type UserStatus } from '../../core/database/entities/user-account.entity';
import { DEFAULT_PAGE_LIMIT, PageQuery, QueryOneOf, QueryText } from '../../core/validation/query-fields';
import { strictDto } from '../../core/validation/strict-dto.pipe';
import type { components } from '../../contract/dashboard';
import { Session } from '../../core/http/route.decorators';
import { Caller, type DashboardCaller } from '../session/caller';

type Schemas = components['schemas'];

class UsersQuery extends PageQuery {
  /** Part of the e-mail. */
  @QueryText({ max: 254 })
  search?: string;

  @QueryOneOf(USER_STATUSES)
  status?: UserStatus;
}

@Controller('dashboard/api/operator/users')
export class OperatorUsersController {
  constructor(
    private readonly directory: UserDirectoryService,
    private readonly users: UserAdministrationService,
  ) {}

  @Get()
  @Session('operator')
  async listUsers(@Query(strictDto) query: UsersQuery): Promise<Schemas['OperatorUserList']> {
    const { search = null, status = null, limit = DEFAULT_PAGE_LIMIT, cursor = null } = query;
    const { items, nextCursor } = await this.directory.list({ search, status }, { limit, cursor });
    return { object: 'list', data: items.map(toRecord), next_cursor: nextCursor };
  }

  @Post(':user_id/disable')
  @HttpCode(200)
  @Session('operator')
  async disableUser(
    @Param('user_id') userId: string,
    @Caller() { actor }: DashboardCaller,
  ): Promise<Schemas['OperatorUser']> {
    const { id, email } = await this.directory.require(requireId(userId));
    await this.users.disable(email, actor);
    return toRecord(await this.directory.require(id));
  }

  @Post(':user_id/enable')
  @HttpCode(200)
  @Session('operator')
  async enableUser(
    @Param('user_id') userId: string,
    @Caller() { actor }: DashboardCaller,
  ): Promise<Schemas['OperatorUser']> {
    const { id, email } = await this.directory.require(requireId(userId));
    await this.users.enable(email, actor);
    return toRecord(await this.directory.require(id));
  }
}

function requireId(userId: string): string {
  return requireUuid(userId, 'There is no such user.');
}

function toRecord(user: UserSummary): Schemas['OperatorUser'] {
  return {
    object: 'operator.user',
    id: user.id,
    email: user.email,
    name: user.name,
    status: user.status,
    is_operator: user.isOperator,
    email_verified_at: user.emailVerifiedAt?.toISOString() ?? null,
    last_login_at: user.lastLoginAt?.toISOString() ?? null,
    organizations: user.organizations,
    created_at: user.createdAt.toISOString(),
  };
}
