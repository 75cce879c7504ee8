import { DatabaseError } from 'pg';
import { QueryFailedError } from 'typeorm';
import { isDatabaseUnavailable } from './database-outage';

function sqlError(code: string): DatabaseError {
  return Object.assign(new DatabaseError('it failed', 9, 'error'), { code });
}

const wrapped = (error: Error): Error => new QueryFailedError('SELECT 1', [], error);
const socketError = (syscall: string): Error => Object.assign(new Error('it broke'), { code: 'ECONNRESET', syscall });

describe('a database outage', () => {
  it.each([
    ['ends its connections', wrapped(sqlError('57P01'))],
    ['is a demoted primary, which is read-only', wrapped(sqlError('25006'))],
    ['has no connection left', sqlError('53300')],
    ['cancels a statement', wrapped(sqlError('57014'))],
    ['aborts one of two deadlocked transactions', wrapped(sqlError('40P01'))],
    ['hits the lock timeout', wrapped(sqlError('55P03'))],
    ['cannot be reached', socketError('connect')],
    ['resets the connection', wrapped(socketError('read'))],
    ['terminates the connection', new Error('Connection terminated unexpectedly')],
    ['left a query unanswered on a connection, which is closed', new Error('Client was closed and is not queryable')],
    ['takes too long', new Error('timeout exceeded when trying to connect')],
    ['takes too long for a single connection', new Error('timeout expired')],
  ])('%s', (_what, error) => {
    expect(isDatabaseUnavailable(error)).toBe(true);
  });

  it.each([
    ['a broken rule', wrapped(sqlError('23505'))],
    ['a missing column', wrapped(sqlError('42703'))],
    ['a client that disconnects', socketError('read')],
    ['a programming error', new TypeError('x is not a function')],
    ['a non-error value', 'ECONNREFUSED'],
  ])('is not the cause of %s', (_what, error) => {
    expect(isDatabaseUnavailable(error)).toBe(false);
  });
});
