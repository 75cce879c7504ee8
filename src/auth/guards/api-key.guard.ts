import { type ExecutionContext, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { requestOf } from '../../core/http/request';
import { requiresApiKey } from '../../core/http/route.decorators';
import { ApiKeyVerifier } from '../api-keys/api-key-verifier';
import type { StoredApiKey } from '../api-keys/stored-api-key';
import type { KeyGuard } from './key-guard';

declare module 'fastify' {
  interface FastifyRequest {
    /** The key of the request, on routes that require one. */
    apiKey: StoredApiKey | null;
  }
}

/** Closed by default: every route without `@Public()` or `@Session()` requires a valid API key (401). */
@Injectable()
export class ApiKeyGuard implements KeyGuard {
  readonly explainedBy = 'key';

  constructor(private readonly keys: ApiKeyVerifier) {}

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const request = requestOf(context);
    if (!requiresApiKey(request.rules)) return true;
    const key = this.keys.authenticate(request.headers.authorization);
    return key instanceof Promise ? key.then((found) => admit(request, found)) : admit(request, key);
  }

  judge(key: StoredApiKey): void {
    this.keys.assertUsable(key);
  }
}

function admit(request: FastifyRequest, key: StoredApiKey): true {
  request.apiKey = key;
  request.context.principal = key.principal;
  return true;
}
