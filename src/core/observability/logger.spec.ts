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

  it('includes the process id and host in production only', () => {
    const { logger, lines } = record({ level: 'info', production: true });
    logger.info('message');
    expect(lines[0]).toHaveProperty('pid', process.pid);
    const development = record();
    development.logger.info('message');
    expect(Object.keys(development.lines[0] ?? {})).toEqual(['level', 'time', 'msg']);
  });
});

describe('toNestLogger', () => {
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
