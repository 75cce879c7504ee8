import type { CallHandler, ExecutionContext, NestInterceptor } from '@nestjs/common';
import { from, lastValueFrom, map, mergeAll, of } from 'rxjs';
import type { RouteRules } from '../core/http/route.decorators';
import { InterceptorChain, type RequestGuard, RouteGuards } from './request-stages';

const CONTEXT = {} as ExecutionContext;

function marking(name: string, calls: string[]): NestInterceptor {
  return {
    intercept: (_context, next) => {
      calls.push(name);
      return next.handle().pipe(map((value) => `${name}(${value})`));
    },
  };
}

/** The value that Nest reads from the chain. */
async function run(interceptors: NestInterceptor[], last: CallHandler): Promise<unknown> {
  return lastValueFrom(
    from(Promise.resolve(new InterceptorChain(interceptors).intercept(CONTEXT, last))).pipe(mergeAll()),
  );
}

describe('InterceptorChain', () => {
  it('calls interceptors in order and maps the result in reverse order', async () => {
    const calls: string[] = [];
    const last = { handle: () => (calls.push('handler'), of('value')) };
    expect(await run([marking('a', calls), marking('b', calls)], last)).toBe('a(b(value))');
    expect(calls).toEqual(['a', 'b', 'handler']);
  });

  it('waits for an interceptor that returns a promise, wherever it stands', async () => {
    const waiting: NestInterceptor = { intercept: async (_context, next) => next.handle() };
    const last = { handle: () => of('value') };
    expect(await run([waiting, marking('a', [])], last)).toBe('a(value)');
    expect(await run([marking('a', []), waiting, marking('b', [])], last)).toBe('a(b(value))');
  });

  it('fails with the error of an interceptor or of the handler, and does not call what comes after', async () => {
    const failure = new Error('refused');
    const calls: string[] = [];
    const last = { handle: () => (calls.push('handler'), of('value')) };
    const throwing = {
      intercept: () => {
        throw failure;
      },
    };
    const rejecting = { intercept: () => Promise.reject(failure) };
    for (const refusing of [throwing, rejecting]) {
      await expect((async () => run([marking('a', []), refusing, marking('b', calls)], last))()).rejects.toBe(failure);
    }
    expect(calls).toEqual([]);
  });
});

describe('RouteGuards', () => {
  const guards = (log: string[], ...verdicts: (string | Promise<boolean> | Error)[]): RequestGuard[] =>
    verdicts.map((verdict) => ({
      canActivate: () => {
        log.push(String(verdict));
        if (verdict instanceof Error) throw verdict;
        return typeof verdict === 'string' ? true : verdict;
      },
    }));
  const contextOf = (rules: RouteRules): ExecutionContext =>
    ({ getArgByIndex: () => ({ rules }) }) as unknown as ExecutionContext;

  it.each<[string, RouteRules]>([
    ['key', {}],
    ['key', { spends: true, modality: 'text' }],
    ['session', { session: 'anonymous' }],
    ['public', { public: true }],
  ])('runs only the %s guards for a route with %j', (kind, rules) => {
    const log: string[] = [];
    const chain = new RouteGuards({
      key: guards(log, 'key'),
      session: guards(log, 'session'),
      public: guards(log, 'public'),
    });
    expect(chain.canActivate(contextOf(rules))).toBe(true);
    expect(log).toEqual([kind]);
  });

  it('calls guards in order, waits for a promise, and calls none after a refusal', async () => {
    const log: string[] = [];
    const refusal = new Error('refused');
    const key = guards(log, 'first', Promise.resolve(true), 'third', refusal, 'never');
    const chain = new RouteGuards({ key, session: [], public: [] });
    await expect(chain.canActivate(contextOf({}))).rejects.toBe(refusal);
    expect(log).toEqual(['first', '[object Promise]', 'third', 'Error: refused']);
    await expect(
      new RouteGuards({ key: guards(log, Promise.resolve(false), 'never'), session: [], public: [] }).canActivate(
        contextOf({}),
      ),
    ).resolves.toBe(false);
    expect(log).not.toContain('never');
  });
});
