import { Logger } from '@nestjs/common';
import { BrokenConnections } from './broken-connections';

describe('a connection that breaks while idle', () => {
  afterEach(() => jest.restoreAllMocks());

  it('is logged until the pools close', () => {
    const warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation();
    const broken = new BrokenConnections();
    const error = new Error('terminating connection due to administrator command');
    broken.report(error);
    broken.close();
    broken.report(error);
    expect(warn.mock.calls).toEqual([[expect.objectContaining({ event: 'database_connection_broke', err: error })]]);
  });
});
