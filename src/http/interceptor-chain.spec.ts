import type { CallHandler, ExecutionContext, NestInterceptor } from '@nestjs/common';
import { from, lastValueFrom, map, mergeAll, of } from 'rxjs';
import { InterceptorChain } from './interceptor-chain';

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
