import { Module } from '@nestjs/common';
import { ModelProvider } from '../../contract/model-provider.decorator';
import { GeminiEmbeddings } from '../../dialects/gemini-generate/gemini-embeddings';
import { GeminiImages } from '../../dialects/gemini-generate/gemini-images';
import { GeminiGenerate } from '../../dialects/gemini-generate/gemini-generate.provider';
import { GeminiSpeech } from '../../dialects/gemini-generate/gemini-speech';
import { GeminiTranscription } from '../../dialects/gemini-generate/gemini-transcription';
import { ApiKeyProvider } from '../../kit/api-key-provider';
import { EncodedSpeech } from '../../kit/encoded-speech';
import { LyriaMusic } from './lyria-music';
import { OmniVideo } from './omni-video';

/** The Gemini API with a key of Google AI Studio. */
@ModelProvider()
export class GoogleProvider extends ApiKeyProvider {
  constructor() {
    super({
      id: 'google',
      apiKeyVariable: 'GEMINI_API_KEY',
      baseUrlVariable: 'GEMINI_BASE_URL',
      defaultBaseUrl: 'https://generativelanguage.googleapis.com/v1beta',
      // Never in the URL, which ends up in logs.
      headers: (apiKey) => ({ 'x-goog-api-key': apiKey }),
      // Google fetches image URLs itself, but only from some hosts and not for all models.
      quirks: { inputImageUrls: 'inline', imageUrls: false, imagesPerCall: 1 },
      serve: (http, provider, credential) => ({
        chat: new GeminiGenerate(http),
        embeddings: new GeminiEmbeddings(http),
        images: new GeminiImages(http),
        speech: new EncodedSpeech(new GeminiSpeech(http), ['mp3', 'opus', 'aac', 'flac', 'wav']),
        transcription: new GeminiTranscription(http),
        video: new OmniVideo(provider, http, credential),
        music: new LyriaMusic(http),
      }),
    });
  }
}

@Module({ providers: [GoogleProvider] })
export class GoogleModule {}
