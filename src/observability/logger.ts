/**
 * The process's log: one JSON line per event on standard output, without credentials (redaction.ts) and, by agreement
 * of everybody who logs, without bodies. Lines are collected to 4 KiB, since a write per request costs more than the
 * rest of the line; pino writes the remainder when the process exits, and at once for `fatal`.
 */
import type { LoggerService } from '@nestjs/common';
import pino, { type DestinationStream, type Logger } from 'pino';
import type { LogLevel } from '../config/app-config';
import { serializers } from './redaction';

export interface LoggerSettings {
  readonly level: LogLevel;
  /** Production lines carry the process id and host, which a collector of many processes needs. */
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
 * Nest's logger, and with it that of every class, in the same log. A message may be a text or an object of facts whose
 * `message` is the text. Nest's own listings of modules and routes are detail and appear at `debug`.
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
        // Of several parameters before the context, the first is a stack.
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
