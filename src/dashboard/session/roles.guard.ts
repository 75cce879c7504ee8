import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { GatewayError } from '../../core/errors/gateway-error';
import { requestOf } from '../../core/http/request';
import type { Access } from '../../core/http/route.decorators';
import { mayActAs, type Role } from '../../core/types/role';

/**
 * Requires membership of the organization in the path (404) with a sufficient role (403), or on operator routes the operator
 * flag (403).
 */
@Injectable()
export class RolesGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const { rules, caller } = requestOf(context);
    if (caller === null || rules.session === undefined || rules.session === 'user') return true;
    if (rules.session === 'operator') {
      if (!caller.isOperator) throw forbidden();
    } else if (isRole(rules.session)) {
      // Does not reveal to non-members that the organization exists.
      if (caller.role === null) throw new GatewayError('not_found', 'There is no such organization.');
      if (!mayActAs(caller.role, rules.session)) throw forbidden();
    }
    return true;
  }
}

/** Whether the access rule is a role in the organization of the path. */
export function isRole(access: Access): access is Role {
  return access !== 'anonymous' && access !== 'machine' && access !== 'user' && access !== 'operator';
}

function forbidden(): GatewayError {
  return new GatewayError('forbidden', 'Your role does not allow this.');
}
