import type { TestCustomer, TestGateway } from '../../harness/gateway';

/** What every LangChain client needs to reach the gateway. */
export function access(gateway: TestGateway, { key }: Pick<TestCustomer, 'key'>) {
  return { apiKey: key, configuration: { baseURL: `${gateway.url}/v1` } };
}

/**
 * Tracing, which a developer's machine may have switched on, would use the network. Nothing needs to be put back: Jest
 * gives every test file an environment of its own.
 */
export function disableTracing(): void {
  for (const name of ['LANGSMITH_TRACING', 'LANGSMITH_TRACING_V2', 'LANGCHAIN_TRACING', 'LANGCHAIN_TRACING_V2']) {
    process.env[name] = 'false';
  }
}
