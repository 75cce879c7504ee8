import { baseUrl, optional, secret } from './setting-kinds';

const apiKey = optional(secret());
const url = optional(baseUrl);

type ProviderVariables<Prefix extends string> = Readonly<
  Record<`${Prefix}_API_KEY`, typeof apiKey> & Record<`${Prefix}_BASE_URL`, typeof url>
>;

/** A provider with a default URL. */
function hosted<const Prefix extends string>(prefix: Prefix, name: string): ProviderVariables<Prefix> {
  return {
    [`${prefix}_API_KEY`]: apiKey.describe(`API key of ${name}; enables its models`),
    [`${prefix}_BASE_URL`]: url.describe(`Another base URL of ${name}, such as a regional one`),
  } as ProviderVariables<Prefix>;
}

/** A provider whose URL only the operator knows. @param form what the URL must contain */
function addressed<const Prefix extends string>(prefix: Prefix, name: string, form = ''): ProviderVariables<Prefix> {
  return {
    [`${prefix}_BASE_URL`]: url.describe(`Base URL of ${name}${form}; enables its models`),
    [`${prefix}_API_KEY`]: apiKey.describe(`API key of ${name}, if it requires one`),
  } as ProviderVariables<Prefix>;
}

/** The variables of the providers, which `src/providers/README.md` lists. */
export const PROVIDER_SETTINGS = {
  ...hosted('OPENAI', 'OpenAI'),
  ...hosted('ANTHROPIC', 'Anthropic'),
  ...hosted('ARK', 'ByteDance Ark (BytePlus ModelArk)'),
  ...addressed('AZURE', 'an Azure OpenAI resource', ', API v1'),
  ...addressed('BEDROCK', 'Amazon Bedrock in a region', ', with the path /openai/v1'),
  BEDROCK_ANTHROPIC_BASE_URL: url.describe(
    'Base URL of Anthropic’s format at Amazon Bedrock in a region, with the path /anthropic; enables its models',
  ),
  BEDROCK_ANTHROPIC_API_KEY: apiKey.describe('API key of Amazon Bedrock for Anthropic’s format'),
  ...hosted('ASSEMBLYAI', 'AssemblyAI'),
  ...hosted('BFL', 'Black Forest Labs'),
  ...hosted('CEREBRAS', 'Cerebras'),
  ...hosted('COHERE', 'Cohere'),
  ...hosted('DEEPGRAM', 'Deepgram'),
  ...hosted('DEEPINFRA', 'DeepInfra'),
  ...hosted('DEEPSEEK', 'DeepSeek'),
  ...hosted('ELEVENLABS', 'ElevenLabs'),
  FAL_KEY: apiKey.describe('API key of fal; enables its models'),
  FAL_BASE_URL: url.describe('Another base URL of fal, such as a proxy'),
  ...hosted('FIREWORKS', 'Fireworks'),
  ...hosted('GEMINI', 'Google Gemini'),
  ...hosted('GROQ', 'Groq'),
  ...hosted('HUGGINGFACE', 'the router of Hugging Face'),
  ...hosted('IDEOGRAM', 'Ideogram'),
  ...hosted('JINA', 'Jina'),
  ...hosted('KLING', 'Kling'),
  ...hosted('LUMA', 'Luma'),
  ...hosted('MINIMAX', 'MiniMax'),
  ...hosted('MISTRAL', 'Mistral'),
  ...hosted('MOONSHOT', 'Moonshot'),
  ...hosted('NVIDIA', 'NVIDIA NIM'),
  ...hosted('OPENROUTER', 'OpenRouter'),
  OPENROUTER_WEBHOOK_SECRET: apiKey.describe(
    'Secret that signs OpenRouter’s reports about videos, from the settings of the workspace; without one they are only hints',
  ),
  ...hosted('PERPLEXITY', 'Perplexity'),
  ...hosted('QWEN', 'Qwen (Alibaba Cloud Model Studio)'),
  ...hosted('RECRAFT', 'Recraft'),
  ...hosted('RUNWAY', 'Runway'),
  ...hosted('REPLICATE', 'Replicate'),
  ...hosted('SAMBANOVA', 'SambaNova'),
  ...hosted('STABILITY', 'Stability AI'),
  ...hosted('TOGETHER', 'Together'),
  VERTEX_BASE_URL: url.describe(
    'Base URL of Google Vertex AI, with everything before /publishers; enables its models, at the prices of the location global',
  ),
  VERTEX_API_KEY: apiKey.describe('JSON key of a service account for Google Vertex AI in base64, or an API key'),
  ...hosted('VOYAGE', 'Voyage'),
  ...hosted('XAI', 'xAI'),
  ...hosted('ZAI', 'Z.ai'),
  ...addressed('LLAMACPP', 'a server of llama.cpp'),
  ...addressed('LMSTUDIO', 'an LM Studio server', ', with the path /v1'),
  ...addressed('OLLAMA', 'an Ollama server', ', with the path /v1'),
  ...addressed('VLLM', 'a vLLM server', ', with the path /v1'),
  ...addressed('OPENAI_COMPATIBLE', 'any other server of the OpenAI format', ', usually with the path /v1'),
};
