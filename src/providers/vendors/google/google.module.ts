import { Module } from '@nestjs/common';
import type { ProviderEnvironment } from '../../../core/config/provider-environment';
import { ModelProvider } from '../../contract/model-provider.decorator';
import type { Provider, ProviderDefinition } from '../../contract/provider';
import { GeminiEmbeddings } from '../../dialects/gemini-generate/gemini-embeddings';
import { GeminiImages } from '../../dialects/gemini-generate/gemini-images';
import { GeminiGenerate } from '../../dialects/gemini-generate/gemini-generate.provider';
import { GeminiSpeech } from '../../dialects/gemini-generate/gemini-speech';
import { parseBaseUrl, UpstreamHttp } from '../../kit/upstream-http';

const API_KEY = 'GEMINI_API_KEY';
const BASE_URL = 'GEMINI_BASE_URL';
const DEFAULT_BASE_URL = 'https://generativelanguage.googleapis.com/v1beta';

/** The Gemini API with a key of Google AI Studio. */
@ModelProvider()
export class GoogleProvider implements ProviderDefinition {
  readonly id = 'google';
  readonly credentials = [API_KEY, BASE_URL];

  create(environment: ProviderEnvironment): Provider | null {
    const apiKey = environment[API_KEY];
    if (apiKey === undefined) return null;
    const http = new UpstreamHttp({
      baseUrl: parseBaseUrl(environment[BASE_URL] ?? DEFAULT_BASE_URL, BASE_URL),
      // Never in the URL, which ends up in logs.
      headers: { 'x-goog-api-key': apiKey },
    });
    return {
      id: this.id,
      capabilities: {
        chat: true,
        completions: false,
        embeddings: true,
        images: true,
        speech: true,
        transcription: false,
        video: false,
        music: false,
      },
      // It fetches URLs itself, but only of some hosts and not for all models.
      quirks: { inputImageUrls: 'inline', imageUrls: false, imagesPerCall: 1 },
      chat: new GeminiGenerate(http),
      embeddings: new GeminiEmbeddings(http),
      images: new GeminiImages(http),
      speech: new GeminiSpeech(http),
      drain: () => http.drain(),
      close: () => http.close(),
    };
  }
}

@Module({ providers: [GoogleProvider] })
export class GoogleModule {}
