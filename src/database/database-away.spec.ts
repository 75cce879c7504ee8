import { DatabaseError } from 'pg';
import { QueryFailedError } from 'typeorm';
import { isDatabaseAway } from './database-away';

function sqlError(code: string): DatabaseError {
  return Object.assign(new DatabaseError('it failed', 9, 'error'), { code });
}

const wrapped = (error: Error): Error => new QueryFailedError('SELECT 1', [], error);
const socketError = (syscall: string): Error => Object.assign(new Error('it broke'), { code: 'ECONNRESET', syscall });

describe('a database that is away', () => {
  it.each([
    ['ends its connections', wrapped(sqlError('57P01'))],
    ['has no connection left', sqlError('53300')],
    ['gives up a statement', wrapped(sqlError('57014'))],
    ['gives up one of two that wait for each other', wrapped(sqlError('40P01'))],
    ['gives up waiting for a row', wrapped(sqlError('55P03'))],
    ['cannot be reached', socketError('connect')],
    ['hangs up', wrapped(socketError('read'))],
    ['is gone', new Error('Connection terminated unexpectedly')],
    ['takes too long', new Error('timeout exceeded when trying to connect')],
    ['takes too long for a single connection', new Error('timeout expired')],
  ])('%s', (_what, error) => {
    expect(isDatabaseAway(error)).toBe(true);
  });

  it.each([
    ['a broken rule', wrapped(sqlError('23505'))],
    ['a missing column', wrapped(sqlError('42703'))],
    ['a client that hangs up', socketError('read')],
    ['a mistake of ours', new TypeError('x is not a function')],
    ['what is no error', 'ECONNREFUSED'],
  ])('is not the cause of %s', (_what, error) => {
    expect(isDatabaseAway(error)).toBe(false);
  });
});
