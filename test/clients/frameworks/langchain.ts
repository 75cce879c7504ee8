import type { TestCustomer, TestGateway } from '../../harness/gateway';

/** Common settings of the LangChain clients. */
export function access(gateway: TestGateway, { key }: Pick<TestCustomer, 'key'>) {
  return { apiKey: key, configuration: { baseURL: `${gateway.url}/v1` } };
}

/**
 * Disables tracing, which a developer's machine may have enabled and which would use the network. No reset is needed:
 * Jest gives every test file a separate environment.
 */
export function disableTracing(): void {
  for (const name of ['LANGSMITH_TRACING', 'LANGSMITH_TRACING_V2', 'LANGCHAIN_TRACING', 'LANGCHAIN_TRACING_V2']) {
    process.env[name] = 'false';
  }
}
