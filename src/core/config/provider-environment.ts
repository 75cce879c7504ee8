/**
 * Provider settings by environment name, for example `{ OPENAI_API_KEY: 'sk-…' }`. Only the names of the
 * built-in providers, and others that end in `_API_KEY` or `_BASE_URL`, are passed on, so that a vendor folder can
 * define its variables without reading `process.env`.
 */
export type ProviderEnvironment = Readonly<Record<string, string | undefined>>;
