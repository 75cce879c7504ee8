/**
 * The process's log: one JSON line per event on standard output, without credentials (redaction.ts) and, by convention,
 * without bodies. A storm of one event is cut (storm-guard.ts). Lines are buffered up to 4 KiB, because a write per
 * request costs more than the rest of the line; pino flushes at process exit, and immediately for `fatal`.
 */
import { hostname } from 'node:os';
import type { LoggerService } from '@nestjs/common';
import pino, { type DestinationStream, type Logger } from 'pino';
import type { LogLevel } from '../config/app-config';
import { SERVICE_VERSION } from '../types/service-version';
import { maskSecrets, serializers } from './redaction';
import { StormGuard } from './storm-guard';

export interface LoggerSettings {
  readonly level: LogLevel;
  /** Production lines include the process id, host and version for log collectors. */
  readonly production: boolean;
  /** Default: a new one. */
  readonly storms?: StormGuard;
}

/** pino's number of the level; lower ones are for development. */
const INFO = 30;

/** Only lines of these levels are searched for secrets: lower levels are frequent and contain no foreign text. */
const MAY_HOLD_SECRETS = /^\{"level":"(?:warn|error|fatal)"/;

const BUFFER_BYTES = 4_096;
const FLUSH_MS = 1_000;

/** The logger of this process. */
export function createLogger(settings: LoggerSettings, destination: DestinationStream = openStandardOutput()): Logger {
  const { storms = new StormGuard() } = settings;
  return pino(
    {
      level: settings.level,
      hooks: {
        logMethod(args, method, level) {
          const event = eventOf(args[0]);
          const report = (suppressed: string, count: number): void =>
            method.call(this, { event: suppressed, suppressed: count }, 'lines of this event were not written');
          if (event === null || level < INFO || storms.admit(event, report)) method.apply(this, args);
        },
        streamWrite: (line) => (MAY_HOLD_SECRETS.test(line) ? maskSecrets(line) : line),
      },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers,
      base: settings.production ? { pid: process.pid, hostname: hostname(), version: SERVICE_VERSION } : null,
    },
    destination,
  );
}

/**
 * Adapts Nest's logger, which all classes use, to this log. A message is a text, or an object of fields whose
 * `message` is the text. Nest's listings of modules and routes appear at `debug`; what has an event, at `info`.
 */
export function toNestLogger(logger: Logger): LoggerService {
  const write =
    (level: 'info' | 'debug' | 'trace' | 'warn' | 'error' | 'fatal') =>
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
    log: (message: unknown, ...parameters: unknown[]) =>
      write(eventOf(message) === null ? 'debug' : 'info')(message, ...parameters),
    debug: write('debug'),
    verbose: write('trace'),
    warn: write('warn'),
    error: write('error'),
    fatal: write('fatal'),
  };
}

/** The `event` of a line's fields; `null`: it has none. */
function eventOf(fields: unknown): string | null {
  if (typeof fields !== 'object' || fields === null || !('event' in fields)) return null;
  return typeof fields.event === 'string' ? fields.event : null;
}

/** Nest passes the name of the class that logs as the last parameter. */
function contextOf(parameters: readonly unknown[]): { context?: string } {
  const context = parameters.at(-1);
  return typeof context === 'string' ? { context } : {};
}

function openStandardOutput(): DestinationStream {
  return pino.destination({ dest: 1, sync: false, minLength: BUFFER_BYTES, periodicFlush: FLUSH_MS });
}
