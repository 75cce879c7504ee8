import type { components } from '../../contract/dashboard';
import type { DeploymentReport } from '../../models/routing/health.service';
import type { ProviderReport } from '../../models/routing/provider-admin.service';

type Schemas = components['schemas'];

export function toProviderRecord(provider: ProviderReport): Schemas['ProviderHealth'] {
  const { id, configured, simulated, credentials, deployments } = provider;
  return {
    object: 'provider_health',
    id,
    configured,
    simulated,
    credentials: credentials.map(({ name, source }) => ({ name, source })),
    deployments: deployments.map(({ deployment: { row }, report }) => ({
      ...toHealthRecord(report),
      model: row.modelId,
      enabled: row.enabled,
    })),
  };
}

export function toHealthRecord(report: DeploymentReport): Schemas['DeploymentHealth'] {
  const { lastFailure } = report;
  return {
    object: 'deployment_health',
    deployment_id: report.deploymentId,
    state: report.state,
    shared_state: report.sharedState,
    wait_ms: Math.ceil(report.waitMs),
    failures: report.failures,
    in_flight: report.inFlight,
    last_failure:
      lastFailure === null ? null : { code: lastFailure.code, at: new Date(lastFailure.atMs).toISOString() },
    skipped_events: report.skippedEvents,
    first_token_ms: rounded(report.firstTokenMs),
    reply_ms: rounded(report.replyMs),
    bytes_per_second: rounded(report.bytesPerSecond),
  };
}

function rounded(value: number | null): number | null {
  return value === null ? null : Math.round(value);
}
