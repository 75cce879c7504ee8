import { Logger } from '@nestjs/common';
import { type EndedFields, RequestLog } from './request-log';

const OUTCOMES = ['success', 'canceled', 'rate_limit_error', 'provider_error', 'timeout_error', 'internal_error'];
const FAILED = ['provider_error', 'timeout_error', 'internal_error'];

afterEach(() => jest.restoreAllMocks());

describe('LOG_REQUESTS', () => {
  it.each([
    ['none', ['internal_error']],
    ['failures', FAILED],
    ['all', OUTCOMES],
  ] as const)('%s writes request_ended for %j', (mode, expected) => {
    const write = jest.spyOn(Logger.prototype, 'log').mockReturnValue(undefined);
    const log = new RequestLog(mode);
    for (const outcome of OUTCOMES) log.write(outcome, () => ({ request_id: 'req_1' }) as EndedFields);
    const lines = write.mock.calls.map(([line]) => line as { event: string; outcome: string; request_id: string });
    expect(lines.map(({ outcome }) => outcome)).toEqual(expected);
    expect(lines.every(({ event, request_id: id }) => event === 'request_ended' && id === 'req_1')).toBe(true);
  });
});
