import { StormGuard } from './storm-guard';
import { createLogger, toNestLogger, type LoggerSettings } from './logger';

function record(settings: LoggerSettings = { level: 'debug', production: false }) {
  const lines: Record<string, unknown>[] = [];
  const logger = createLogger(settings, { write: (line) => void lines.push(JSON.parse(line)) });
  return { logger, lines };
}

describe('createLogger', () => {
  it('redacts credentials in the line and in nested objects', () => {
    const { logger, lines } = record();
    const headers = {
      authorization: 'Bearer hunter2',
      'x-api-key': 'hunter2',
      'set-cookie': ['hunter2'],
      accept: '*/*',
    };
    logger.info(
      { headers, apiKey: 'hunter2', request: { headers }, databaseUrl: 'postgres://u:hunter2@db' },
      'message',
    );
    expect(JSON.stringify(lines)).not.toContain('hunter2');
    expect(lines[0]).toMatchObject({ headers: { accept: '*/*' }, msg: 'message', level: 'info' });
  });

  it('keeps token counts, which are not credentials', () => {
    const { logger, lines } = record();
    logger.info({ request: { promptTokens: 3, max_tokens: 4 } }, 'message');
    expect(lines[0]).toMatchObject({ request: { promptTokens: 3, max_tokens: 4 } });
  });

  it('serializes an error as type, message, code and causes, without other properties', () => {
    const { logger, lines } = record();
    const cause = Object.assign(new Error('refused'), { code: 'ECONNREFUSED' });
    const error = Object.assign(new TypeError('failed', { cause }), { parameters: ['hunter2'] });
    logger.error({ err: error }, 'message');
    expect(lines[0]).toMatchObject({
      err: { type: 'TypeError', message: 'failed', cause: { message: 'refused', code: 'ECONNREFUSED' } },
    });
    expect(JSON.stringify(lines)).not.toContain('hunter2');
  });

  it('includes the process id, host and version in production only', () => {
    const { logger, lines } = record({ level: 'info', production: true });
    logger.info('message');
    expect(lines[0]).toMatchObject({ pid: process.pid, hostname: expect.any(String), version: expect.any(String) });
    const development = record();
    development.logger.info('message');
    expect(Object.keys(development.lines[0] ?? {})).toEqual(['level', 'time', 'msg']);
  });
});

describe('redaction by value', () => {
  const SECRETS = [
    'sk-llm-AbCdEf0123456789_-x',
    'Bearer eyJhbGciOi.J9-secret',
    'postgres://gateway:p%40ss-hunter2@db.internal/money',
    'https://bucket.example/object?X-Amz-Credential=AKIDhunter2&X-Amz-Signature=hunter2abc&x-id=GetObject',
    'http://127.0.0.1:8080/v1/objects/a?expires=1&signature=hunter2',
  ];
  const HIDDEN = /AbCdEf|eyJhbGci|p%40ss|hunter2/;

  it.each(['warn', 'error', 'fatal'] as const)('hides keys, tokens and signed URLs in every field at %s', (level) => {
    const { logger, lines } = record();
    for (const secret of SECRETS) {
      const cause = new Error(`cause: ${secret}`);
      const err = new Error(`failed with ${secret} in the text`, { cause });
      logger[level]({ event: 'leak', reason: secret, nested: { list: [secret] }, err }, `message: "${secret}"`);
    }
    expect(lines).toHaveLength(SECRETS.length);
    expect(JSON.stringify(lines)).not.toMatch(HIDDEN);
  });

  it('keeps the text around them', () => {
    const { logger, lines } = record();
    logger.warn({ event: 'e', url: SECRETS[2], other: SECRETS[3] }, 'a "Bearer abc", then text');
    expect(lines[0]).toMatchObject({
      event: 'e',
      url: 'postgres://gateway:[removed]@db.internal/money',
      other: 'https://bucket.example/object?X-Amz-Credential=[removed]&X-Amz-Signature=[removed]&x-id=GetObject',
      msg: 'a "Bearer [removed]", then text',
    });
  });
});

describe('a log storm', () => {
  /** One event at 500 lines/s for a minute. */
  function storm() {
    const clock = { nowMs: 0 };
    const storms = new StormGuard(() => clock.nowMs);
    const counted: string[] = [];
    storms.onSuppressed((event) => counted.push(event));
    const { logger, lines } = record({ level: 'info', production: false, storms });
    jest.useFakeTimers();
    for (; clock.nowMs < 60_000; clock.nowMs += 2) {
      logger.warn({ event: 'provider_call_failed', at: clock.nowMs }, 'a provider call failed');
      jest.advanceTimersByTime(2);
    }
    logger.warn({ event: 'other' }, 'another event');
    jest.advanceTimersByTime(10_000);
    jest.useRealTimers();
    return { lines, counted };
  }

  it('writes at most 100 lines of an event in a second, and others meanwhile', () => {
    const { lines } = storm();
    const perSecond = Map.groupBy(
      lines.filter(({ at }) => at !== undefined),
      ({ at }) => Math.floor((at as number) / 1_000),
    );
    expect(perSecond.size).toBe(60);
    expect(new Set([...perSecond.values()].map(({ length }) => length))).toEqual(new Set([100]));
    expect(lines.filter(({ event }) => event === 'other')).toHaveLength(1);
  });

  it('logs the number of suppressed lines every ten seconds, and the numbers add up', () => {
    const { lines, counted } = storm();
    const reports = lines.filter(({ suppressed }) => suppressed !== undefined);
    expect(reports.length).toBeLessThanOrEqual(7);
    expect(reports.every(({ event, level }) => event === 'provider_call_failed' && level === 'warn')).toBe(true);
    const suppressed = reports.reduce((sum, report) => sum + (report.suppressed as number), 0);
    expect([suppressed, counted.length]).toEqual([24_000, 24_000]);
  });

  it('logs the number at the end of the process too, for each event at its own level', () => {
    const storms = new StormGuard(() => 0);
    const { logger, lines } = record({ level: 'info', production: false, storms });
    for (let line = 0; line < 150; line++) {
      logger.warn({ event: 'provider_call_failed' }, 'a provider call failed');
      logger.info({ event: 'request_ended' }, 'request ended');
    }
    storms.flush();
    storms.flush();
    expect(lines.slice(200)).toEqual([
      expect.objectContaining({ level: 'warn', event: 'provider_call_failed', suppressed: 50 }),
      expect.objectContaining({ level: 'info', event: 'request_ended', suppressed: 50 }),
    ]);
  });
});

describe('toNestLogger', () => {
  it('writes events of the life cycle at info', () => {
    const { logger, lines } = record();
    toNestLogger(logger).log({ event: 'request_ended', message: 'request ended', status: 200 }, 'Requests');
    expect(lines).toMatchObject([{ level: 'info', event: 'request_ended', msg: 'request ended', status: 200 }]);
  });

  it('maps Nest’s listings to debug and its errors to error, with the context', () => {
    const { logger, lines } = record();
    const nest = toNestLogger(logger);
    nest.log('Mapped {/v1/models, GET} route', 'RouterExplorer');
    nest.error(new Error('boom'), 'ExceptionHandler');
    nest.error('boom', 'Error: boom\n    at x', 'ExceptionHandler');
    expect(lines).toMatchObject([
      { level: 'debug', context: 'RouterExplorer' },
      { level: 'error', context: 'ExceptionHandler', err: { message: 'boom' } },
      { level: 'error', context: 'ExceptionHandler', stack: 'Error: boom\n    at x' },
    ]);
  });
});
