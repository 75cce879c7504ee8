import type { ProviderEnvironment } from '../../src/core/config/provider-environment';
import type { Provider } from '../../src/providers/contract/provider';
import { SUBJECTS } from './subjects';

it('takes another key or address of a provider that deduplicates jobs for another account', async () => {
  const checked: string[] = [];
  const opened: Provider[] = [];
  for (const { definition, environment } of SUBJECTS) {
    const accountIn = (settings: ProviderEnvironment): string | undefined => {
      const created = definition.create(settings);
      if (created === null) return undefined;
      opened.push(created);
      const { capabilities } = created.video ?? created.music ?? {};
      return capabilities?.idempotentSubmit === true ? (capabilities.submissionAccount ?? 'any') : undefined;
    };
    const settings = environment('http://127.0.0.1:9');
    const account = accountIn(settings);
    const key = definition.credentials.find((name) => name.endsWith('_KEY'));
    if (account === undefined || key === undefined) continue;
    const accounts = [
      account,
      accountIn(environment('http://127.0.0.2:9')),
      accountIn({ ...settings, [key]: `${settings[key]}0` }),
    ];
    expect([new Set(accounts).size, accountIn(settings)]).toEqual([accounts.length, account]);
    expect(accounts.join()).not.toContain(settings[key]);
    checked.push(definition.id);
  }
  await Promise.all(opened.map((provider) => provider.close()));
  expect(checked).toEqual(['kling']);
});
