import { text } from 'node:stream/consumers';
import type { Command } from 'commander';
import { recordAudit } from '../../core/database/audit-log';
import { COMMAND_LINE } from '../../core/types/actor';
import { type ResealSummary, resealTable } from '../../core/secrets/reseal';
import { SecretBox } from '../../core/secrets/secret-box';
import { publishCredentialChange } from '../../models/credentials/stored-credentials';
import { CredentialRepository } from '../../models/credentials/credential.repository';
import { type CredentialRecord, CredentialService } from '../../models/credentials/credential.service';
import { ProviderInstanceRepository } from '../../models/credentials/provider-instance.repository';
import { resolveSecretsKeys } from '../../core/secrets/service-secrets';
import { webhookSecretTable } from '../../webhooks/webhook-secret.repository';
import { type CliContext, loadProviders, withContext } from '../cli-context';
import { type CommandResult, formatTable, run } from '../command-result';
import { parseText } from '../option-parsers';

interface NameOptions {
  readonly name: string;
}

/** Commands for values encrypted with `SECRETS_KEY`. */
export function addCredentialCommands(program: Command): void {
  const credential = program.command('credential').description('manage provider keys and URLs, stored encrypted');
  credential
    .command('set')
    .description('store the value from standard input; it overrides the environment variable')
    .requiredOption('--name <name>', 'environment variable name, for example OPENAI_API_KEY', parseText)
    .action(run(setCredential));
  credential.command('list').description('list all credentials; values are never shown').action(run(listCredentials));
  credential
    .command('delete')
    .description('delete a stored value')
    .requiredOption('--name <name>', 'environment variable name', parseText)
    .action(run(deleteCredential));

  program
    .command('secrets')
    .description('manage encryption of stored secrets')
    .command('reseal')
    .description('re-encrypt everything with the first key of SECRETS_KEY; exit code 1 if a value cannot be decrypted')
    .action(run(resealSecrets));
}

function setCredential({ name }: NameOptions): Promise<CommandResult> {
  return withContext(async (context) => {
    // An argument would be visible in the process list and the shell history.
    const value = (await text(process.stdin)).replace(/\r?\n$/, '');
    const record = await (await createService(context)).set(name, value, COMMAND_LINE);
    return { text: `${name} is stored. Running gateways use it within seconds.`, json: toRecord(record) };
  });
}

function listCredentials(): Promise<CommandResult> {
  return withContext(async (context) => {
    const records = await (await createService(context)).list();
    return {
      text: formatTable(
        ['NAME', 'SOURCE', 'ENDS WITH', 'STORED AT', 'KEY'],
        records.map(({ name, source, stored }) => [
          name,
          source ?? 'none',
          stored?.last4 ?? '',
          stored?.updatedAt.toISOString() ?? '',
          stored === null ? '' : stored.readable ? stored.keyId : `${stored.keyId} (not in SECRETS_KEY)`,
        ]),
        'No provider uses credentials.',
      ),
      json: { credentials: records.map(toRecord) },
    };
  });
}

function deleteCredential({ name }: NameOptions): Promise<CommandResult> {
  return withContext(async (context) => {
    await (await createService(context)).remove(name, COMMAND_LINE);
    return { text: `${name} is no longer stored.`, json: { name, stored: null } };
  });
}

function resealSecrets(): Promise<CommandResult> {
  return withContext(async (context) => {
    const { config, dataSource } = context;
    const box = new SecretBox(resolveSecretsKeys(config));
    const summaries = {
      webhook_secrets: await resealTable(webhookSecretTable(dataSource), box),
      provider_credentials: await (await createService(context, box)).reseal(),
      provider_instances: await new ProviderInstanceRepository(dataSource, box).reseal(),
    };
    const counted = Object.entries(summaries).map(([what, { resealed }]) => [what, resealed]);
    await recordAudit(dataSource.manager, {
      organizationId: null,
      actor: COMMAND_LINE,
      action: 'secrets.resealed',
      target: { type: 'secrets', id: 'all' },
      after: Object.fromEntries(counted),
    });
    return {
      text: Object.entries(summaries)
        .map(([what, summary]) => describe(what.replaceAll('_', ' '), summary))
        .join('\n'),
      json: summaries,
      failed: Object.values(summaries).some(({ unreadable }) => unreadable.length > 0),
    };
  });
}

function describe(what: string, { resealed, current, unreadable }: ResealSummary): string {
  const rest = unreadable.length === 0 ? '' : `; ${unreadable.length} cannot be decrypted: ${unreadable.join(', ')}`;
  return `${what}: ${resealed} re-encrypted, ${current} already used the first key${rest}`;
}

async function createService(
  { config, dataSource, redis }: CliContext,
  box = new SecretBox(resolveSecretsKeys(config)),
): Promise<CredentialService> {
  return new CredentialService(dataSource, new CredentialRepository(dataSource), box, await loadProviders(config), {
    announce: () => publishCredentialChange(redis),
  });
}

function toRecord({ name, source, stored }: CredentialRecord) {
  return {
    name,
    source,
    stored: stored && {
      key_id: stored.keyId,
      readable: stored.readable,
      last4: stored.last4,
      updated_at: stored.updatedAt.toISOString(),
    },
  };
}
