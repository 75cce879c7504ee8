/**
 * The process's log: one JSON line per event on standard output, without credentials (redaction.ts) and, by convention,
 * without bodies. Lines are buffered up to 4 KiB, because a write per request costs more than the rest of the line;
 * pino flushes at process exit, and immediately for `fatal`.
 */
import type { LoggerService } from '@nestjs/common';
import pino, { type DestinationStream, type Logger } from 'pino';
import type { LogLevel } from '../config/app-config';
import { serializers } from './redaction';

export interface LoggerSettings {
  readonly level: LogLevel;
  /** Production lines include the process id and host for log collectors. */
  readonly production: boolean;
}

const BUFFER_BYTES = 4_096;
const FLUSH_MS = 1_000;

/** The logger of this process. */
export function createLogger(settings: LoggerSettings, destination: DestinationStream = openStandardOutput()): Logger {
  return pino(
    {
      level: settings.level,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers,
      ...(settings.production ? {} : { base: null }),
    },
    destination,
  );
}

/**
 * Adapts Nest's logger, and thus that of every class, to this log. A message is a text, or an object of fields whose
 * `message` is the text. Nest's listings of modules and routes appear at `debug`.
 */
export function toNestLogger(logger: Logger): LoggerService {
  const write =
    (level: 'debug' | 'trace' | 'warn' | 'error' | 'fatal') =>
    (message: unknown, ...parameters: unknown[]): void => {
      const context = contextOf(parameters);
      if (message instanceof Error) {
        logger[level]({ ...context, err: message }, message.message);
      } else if (typeof message === 'object' && message !== null) {
        const { message: text, ...facts } = message as { message?: unknown };
        logger[level]({ ...context, ...facts }, String(text ?? ''));
      } else {
        // With several parameters before the context, the first is a stack.
        const stack = parameters.length > 1 ? { stack: parameters[0] } : {};
        logger[level]({ ...context, ...stack }, String(message));
      }
    };
  return {
    log: write('debug'),
    debug: write('debug'),
    verbose: write('trace'),
    warn: write('warn'),
    error: write('error'),
    fatal: write('fatal'),
  };
}

/** Nest passes the name of the class that logs as the last parameter. */
function contextOf(parameters: readonly unknown[]): { context?: string } {
  const context = parameters.at(-1);
  return typeof context === 'string' ? { context } : {};
}

function openStandardOutput(): DestinationStream {
  return pino.destination({ dest: 1, sync: false, minLength: BUFFER_BYTES, periodicFlush: FLUSH_MS });
}
