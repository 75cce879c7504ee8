import { Module } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { KeyCoolDowns } from './key-cool-downs';
import { ProviderRegistry } from './provider-registry';
import { ProvidersService } from './providers.service';
import { AnthropicModule } from './vendors/anthropic/anthropic.module';
import { GoogleModule } from './vendors/google/google.module';
import { ArkModule } from './vendors/ark/ark.module';
import { AssemblyAiModule } from './vendors/assemblyai/assemblyai.module';
import { AzureModule } from './vendors/azure/azure.module';
import { BedrockModule } from './vendors/bedrock/bedrock.module';
import { BedrockAnthropicModule } from './vendors/bedrock-anthropic/bedrock-anthropic.module';
import { BflModule } from './vendors/bfl/bfl.module';
import { CerebrasModule } from './vendors/cerebras/cerebras.module';
import { CohereModule } from './vendors/cohere/cohere.module';
import { DeepInfraModule } from './vendors/deepinfra/deepinfra.module';
import { DeepSeekModule } from './vendors/deepseek/deepseek.module';
import { DeepgramModule } from './vendors/deepgram/deepgram.module';
import { ElevenLabsModule } from './vendors/elevenlabs/elevenlabs.module';
import { FalModule } from './vendors/fal/fal.module';
import { FireworksModule } from './vendors/fireworks/fireworks.module';
import { GroqModule } from './vendors/groq/groq.module';
import { HuggingFaceModule } from './vendors/huggingface/huggingface.module';
import { IdeogramModule } from './vendors/ideogram/ideogram.module';
import { JinaModule } from './vendors/jina/jina.module';
import { KlingModule } from './vendors/kling/kling.module';
import { LlamaCppModule } from './vendors/llamacpp/llamacpp.module';
import { LmStudioModule } from './vendors/lmstudio/lmstudio.module';
import { LumaModule } from './vendors/luma/luma.module';
import { MiniMaxModule } from './vendors/minimax/minimax.module';
import { MistralModule } from './vendors/mistral/mistral.module';
import { MockModule } from './vendors/mock/mock.module';
import { MoonshotModule } from './vendors/moonshot/moonshot.module';
import { NvidiaModule } from './vendors/nvidia/nvidia.module';
import { OllamaModule } from './vendors/ollama/ollama.module';
import { OpenAiCompatibleModule } from './vendors/openai-compatible/openai-compatible.module';
import { OpenAiModule } from './vendors/openai/openai.module';
import { OpenRouterModule } from './vendors/openrouter/openrouter.module';
import { PerplexityModule } from './vendors/perplexity/perplexity.module';
import { QwenModule } from './vendors/qwen/qwen.module';
import { RecraftModule } from './vendors/recraft/recraft.module';
import { RunwayModule } from './vendors/runway/runway.module';
import { ReplicateModule } from './vendors/replicate/replicate.module';
import { SambaNovaModule } from './vendors/sambanova/sambanova.module';
import { StabilityModule } from './vendors/stability/stability.module';
import { TogetherModule } from './vendors/together/together.module';
import { VertexModule } from './vendors/vertex/vertex.module';
import { VllmModule } from './vendors/vllm/vllm.module';
import { VoyageModule } from './vendors/voyage/voyage.module';
import { XaiModule } from './vendors/xai/xai.module';
import { ZaiModule } from './vendors/zai/zai.module';

/** One line for each folder under `vendors/`. */
const VENDORS = [
  AnthropicModule,
  ArkModule,
  AssemblyAiModule,
  AzureModule,
  BedrockModule,
  BedrockAnthropicModule,
  BflModule,
  CerebrasModule,
  CohereModule,
  DeepInfraModule,
  DeepSeekModule,
  DeepgramModule,
  ElevenLabsModule,
  FalModule,
  FireworksModule,
  GoogleModule,
  GroqModule,
  HuggingFaceModule,
  IdeogramModule,
  JinaModule,
  KlingModule,
  LlamaCppModule,
  LmStudioModule,
  LumaModule,
  MiniMaxModule,
  MistralModule,
  MockModule,
  MoonshotModule,
  NvidiaModule,
  OllamaModule,
  OpenAiCompatibleModule,
  OpenAiModule,
  OpenRouterModule,
  PerplexityModule,
  QwenModule,
  RecraftModule,
  RunwayModule,
  ReplicateModule,
  SambaNovaModule,
  StabilityModule,
  TogetherModule,
  VertexModule,
  VllmModule,
  VoyageModule,
  XaiModule,
  ZaiModule,
];

/**
 * The configured providers, ready to call. Vendors and dialects use only the kit and the contract. Code outside this
 * folder uses only `ProvidersService`, `KeyCoolDowns` and the contract. Invariant: only the operator's settings decide
 * where a request goes.
 */
@Module({
  imports: [DiscoveryModule, ...VENDORS],
  providers: [KeyCoolDowns, ProviderRegistry, ProvidersService],
  exports: [KeyCoolDowns, ProvidersService],
})
export class ProvidersModule {}
