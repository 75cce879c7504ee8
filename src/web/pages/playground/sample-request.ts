import type { Model } from '../../../contract/dashboard';
import type { SampledRequest } from './code-samples';

/** A small request to the model, for code to copy. */
export function sampleOf({ id: model, modality, media }: Model): SampledRequest {
  switch (modality) {
    case 'text':
      return {
        path: '/v1/chat/completions',
        sdk: 'chat.completions.create',
        body: { model, messages: [{ role: 'user', content: 'Hello' }] },
      };
    case 'embedding':
      return { path: '/v1/embeddings', sdk: 'embeddings.create', body: { model, input: 'Hello' } };
    case 'image':
      return { path: '/v1/images/generations', sdk: 'images.generate', body: { model, prompt: 'A lighthouse' } };
    case 'speech':
      return {
        path: '/v1/audio/speech',
        sdk: 'audio.speech.create',
        body: { model, input: 'Hello', voice: media?.voices?.[0] ?? 'a voice of the model' },
      };
    case 'transcription':
      return {
        path: '/v1/audio/transcriptions',
        sdk: 'audio.transcriptions.create',
        body: { model },
        file: { field: 'file', name: 'recording.mp3' },
      };
    case 'video':
      return {
        path: '/v1/video/generations',
        body: { model, prompt: 'A lighthouse in a storm' },
        needsIdempotencyKey: true,
      };
    case 'music':
      return {
        path: '/v1/music/generations',
        body: { model, prompt: 'A calm piano piece' },
        needsIdempotencyKey: true,
      };
  }
}
