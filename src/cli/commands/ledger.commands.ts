import type { Command } from 'commander';
import { DatabaseError } from 'pg';
import { ArchiveMismatchError, totalOf, verifyArchivedDay } from '../../billing/ledger/archived-day';
import { LedgerArchiveRepository } from '../../billing/ledger/ledger-archive.repository';
import { CheckTimeoutError } from '../../billing/ledger/ledger-checks';
import { describeCause, GatewayError } from '../../core/errors/gateway-error';
import { createObjectStorage } from '../../core/storage/create-object-storage';
import type { ObjectStorage } from '../../core/storage/object-storage';
import { countOf } from '../../core/types/count-of';
import { type Micro, microToJson } from '../../core/types/micro';
import { CliError, withContext } from '../cli-context';
import { formatTable, run, type CommandResult } from '../command-result';
import { parseDay, parseInteger } from '../option-parsers';

/** Time limit for reading a whole object. */
const READ_TIMEOUT_MS = 3_600_000;

export function addLedgerCommands(program: Command): void {
  const ledger = program.command('ledger').description('audit the ledger');
  ledger
    .command('verify')
    .description('list violated invariants; exit code 1 if there are any or the audit does not complete')
    .option('--timeout-seconds <seconds>', 'time limit; 0: none', parseInteger, 0)
    .action(run(verifyLedger));

  const archive = ledger.command('archive').description('days that have been moved to the object storage');
  archive
    .command('verify')
    .description('read an archived day again and compare it with its closing; exit code 1 if it differs')
    .argument('<day>', 'YYYY-MM-DD, in UTC', parseDay)
    .action(run(verifyArchive));
}

function verifyLedger({ timeoutSeconds }: { timeoutSeconds: number }): Promise<CommandResult> {
  return withContext(async ({ ledger }) => {
    const timeoutMs = timeoutSeconds === 0 ? null : timeoutSeconds * 1_000;
    const violations = await ledger.verify(timeoutMs).catch(explainFailure);
    return {
      text: formatTable(
        ['INVARIANT', 'SUBJECT', 'DIFFERENCE (MICRO)'],
        violations.map(({ invariant, subject, differenceMicro }) => [invariant, subject, differenceMicro.toString()]),
        'The ledger is consistent: no invariant is violated.',
      ),
      json: {
        ok: violations.length === 0,
        violations: violations.map(({ invariant, subject, differenceMicro }) => ({
          invariant,
          subject,
          difference_micro: toJson(differenceMicro),
        })),
      },
      failed: violations.length > 0,
    };
  });
}

/** Database errors need no stack trace. `reportFailure` explains connection errors. */
function explainFailure(error: unknown): never {
  if (!(error instanceof CheckTimeoutError || error instanceof DatabaseError)) throw error;
  throw new CliError(`The ledger could not be verified; its state is unknown: ${error.message}`);
}

/** As text if a violation exceeds the safe range of JSON numbers. */
function toJson(amount: Micro): number | string {
  try {
    return microToJson(amount);
  } catch {
    return amount.toString();
  }
}

function verifyArchive(day: string): Promise<CommandResult> {
  return withContext(async ({ config, clock, dataSource }) => {
    const storage = await createObjectStorage(config, clock, () => {
      throw new Error('Commands do not sign URLs.');
    });
    if (storage === null) throw new CliError('This deployment has no object storage.');
    try {
      return await compareWithClosing(storage, new LedgerArchiveRepository(dataSource), day);
    } finally {
      storage.close();
    }
  });
}

async function compareWithClosing(
  storage: ObjectStorage,
  repository: LedgerArchiveRepository,
  day: string,
): Promise<CommandResult> {
  const record = await repository.readRecord(day);
  if (record === null) throw new CliError(`${day} is not archived.`);
  const { objectKey, contentDigest } = record;
  const about = { day, object_key: objectKey };
  try {
    const object = await storage.open(objectKey, AbortSignal.timeout(READ_TIMEOUT_MS));
    const { sums } = await verifyArchivedDay(object, { contentDigest, closings: await repository.readClosings(day) });
    const { reservationCount, chargedMicro } = totalOf(sums.values());
    return {
      text: `${objectKey} is whole: ${countOf(reservationCount, 'request')}, ${chargedMicro} micro-units charged.`,
      json: { ...about, ok: true, requests: Number(reservationCount), charged_micro: toJson(chargedMicro) },
    };
  } catch (error) {
    if (error instanceof GatewayError) throw new CliError(`The object storage cannot be read: ${describeCause(error)}`);
    if (!(error instanceof ArchiveMismatchError)) throw error;
    return {
      text: `${objectKey} differs from the closing of its day: ${error.message}.`,
      json: { ...about, ok: false, difference: error.message },
      failed: true,
    };
  }
}
