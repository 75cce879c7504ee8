import { DeploymentHealth, ProviderLoad } from './deployment-health';
import { DeploymentCall } from './deployment-health';

describe('DeploymentHealth.waitMs', () => {
  const observer = { answered: () => undefined, succeeded: () => undefined, failed: () => undefined };

  it('is the time until the next probe, or a short wait during a probe', () => {
    const health = new DeploymentHealth('a');
    health.trip(30_000);
    expect(health.waitMs(10_000)).toBe(20_000);

    const probe = new DeploymentCall(observer, health, new ProviderLoad(1), 30_000, true);
    health.trip(60_000);
    expect(health.waitMs(30_000)).toBe(1_000);

    probe.abandon();
    expect(health.waitMs(30_000)).toBe(30_000);
  });

  it('is never less than the cool-down', () => {
    const health = new DeploymentHealth('a');
    health.cool(5_000);
    expect(health.waitMs(1_000)).toBe(4_000);
    health.trip(2_000);
    expect(health.waitMs(1_000)).toBe(4_000);
    expect(health.waitMs(6_000)).toBe(0);
  });
});
