import type { OpenAiFormatProvider } from '../../src/providers/dialects/openai-format.provider';
import { AzureProvider } from '../../src/providers/vendors/azure/azure.module';
import { BedrockProvider } from '../../src/providers/vendors/bedrock/bedrock.module';
import { CerebrasProvider } from '../../src/providers/vendors/cerebras/cerebras.module';
import { CohereProvider } from '../../src/providers/vendors/cohere/cohere.module';
import { DeepInfraProvider } from '../../src/providers/vendors/deepinfra/deepinfra.module';
import { DeepSeekProvider } from '../../src/providers/vendors/deepseek/deepseek.module';
import { FireworksProvider } from '../../src/providers/vendors/fireworks/fireworks.module';
import { GroqProvider } from '../../src/providers/vendors/groq/groq.module';
import { HuggingFaceProvider } from '../../src/providers/vendors/huggingface/huggingface.module';
import { JinaProvider } from '../../src/providers/vendors/jina/jina.module';
import { LlamaCppProvider } from '../../src/providers/vendors/llamacpp/llamacpp.module';
import { LmStudioProvider } from '../../src/providers/vendors/lmstudio/lmstudio.module';
import { MiniMaxProvider } from '../../src/providers/vendors/minimax/minimax.module';
import { MistralProvider } from '../../src/providers/vendors/mistral/mistral.module';
import { MoonshotProvider } from '../../src/providers/vendors/moonshot/moonshot.module';
import { NvidiaProvider } from '../../src/providers/vendors/nvidia/nvidia.module';
import { OllamaProvider } from '../../src/providers/vendors/ollama/ollama.module';
import { OpenAiCompatibleProvider } from '../../src/providers/vendors/openai-compatible/openai-compatible.module';
import { OpenAiProvider } from '../../src/providers/vendors/openai/openai.module';
import { OpenRouterProvider } from '../../src/providers/vendors/openrouter/openrouter.module';
import { PerplexityProvider } from '../../src/providers/vendors/perplexity/perplexity.module';
import { QwenProvider } from '../../src/providers/vendors/qwen/qwen.module';
import { RecraftProvider } from '../../src/providers/vendors/recraft/recraft.module';
import { SambaNovaProvider } from '../../src/providers/vendors/sambanova/sambanova.module';
import { TogetherProvider } from '../../src/providers/vendors/together/together.module';
import { VllmProvider } from '../../src/providers/vendors/vllm/vllm.module';
import { VoyageProvider } from '../../src/providers/vendors/voyage/voyage.module';
import { XaiProvider } from '../../src/providers/vendors/xai/xai.module';
import { ZaiProvider } from '../../src/providers/vendors/zai/zai.module';

/** Vendors that speak the OpenAI format. */
export const PRESETS: readonly OpenAiFormatProvider[] = [
  new AzureProvider(),
  new BedrockProvider(),
  new CerebrasProvider(),
  new CohereProvider(),
  new DeepInfraProvider(),
  new DeepSeekProvider(),
  new FireworksProvider(),
  new GroqProvider(),
  new HuggingFaceProvider(),
  new JinaProvider(),
  new LlamaCppProvider(),
  new LmStudioProvider(),
  new MiniMaxProvider(),
  new MistralProvider(),
  new MoonshotProvider(),
  new NvidiaProvider(),
  new OllamaProvider(),
  new OpenAiCompatibleProvider(),
  new OpenAiProvider(),
  new OpenRouterProvider(),
  new PerplexityProvider(),
  new QwenProvider(),
  new RecraftProvider(),
  new SambaNovaProvider(),
  new TogetherProvider(),
  new VllmProvider(),
  new VoyageProvider(),
  new XaiProvider(),
  new ZaiProvider(),
];
