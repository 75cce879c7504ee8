import { systemClock } from '../core/time/clock';
import { InstanceDefinition } from './instance-definition';
import { KeyCoolDowns } from './key-cool-downs';
import { OpenRouterProvider } from './vendors/openrouter/openrouter.module';

describe('an instance of a provider', () => {
  it('does not use the secret of the process, which another account signs with', async () => {
    const environment = { OPENROUTER_API_KEY: 'of the process', OPENROUTER_WEBHOOK_SECRET: 'of the process' };
    const module = new OpenRouterProvider();
    const instance = {
      id: 'openrouter-eu',
      module: 'openrouter',
      baseUrl: 'https://eu.openrouter.example/v1',
      apiKeys: [{ key: 'of the instance', weight: 1 }],
    };
    const own = module.create(environment);
    const other = new InstanceDefinition(instance, module, new KeyCoolDowns(systemClock)).create(environment);
    expect([own?.video?.verifyReport !== undefined, other?.video?.verifyReport]).toEqual([true, undefined]);
    await Promise.all([own?.close(), other?.close()]);
  });
});
