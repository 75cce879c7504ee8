import type { ImageRequest } from '../../src/providers/contract/images';
import type { SpeechRequest } from '../../src/providers/contract/speech';
import type { TranscriptionRequest } from '../../src/providers/contract/transcription';

/** One image from a prompt; tests override what they are about. */
export function imageRequest(overrides: Partial<ImageRequest> = {}): ImageRequest {
  return {
    prompt: 'a lighthouse',
    count: 1,
    size: null,
    quality: null,
    style: null,
    format: null,
    background: null,
    complexity: null,
    compression: null,
    moderation: null,
    inputFidelity: null,
    user: null,
    images: [],
    mask: null,
    delivery: 'bytes',
    ...overrides,
  };
}

export function speechRequest(overrides: Partial<SpeechRequest> = {}): SpeechRequest {
  return { input: 'Hello there.', voice: 'alloy', format: 'mp3', speed: null, instructions: null, ...overrides };
}

/** A second of silence as WAV: 8 kHz, 8 bits, one channel. */
export function silentWav(): Buffer {
  const samples = 8_000;
  const header = Buffer.alloc(44);
  header.write('RIFF', 0);
  header.writeUInt32LE(36 + samples, 4);
  header.write('WAVEfmt ', 8);
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(1, 20);
  header.writeUInt16LE(1, 22);
  header.writeUInt32LE(8_000, 24);
  header.writeUInt32LE(8_000, 28);
  header.writeUInt16LE(1, 32);
  header.writeUInt16LE(8, 34);
  header.write('data', 36);
  header.writeUInt32LE(samples, 40);
  return Buffer.concat([header, Buffer.alloc(samples, 0x80)]);
}

export function transcriptionRequest(overrides: Partial<TranscriptionRequest> = {}): TranscriptionRequest {
  return {
    audio: silentWav(),
    contentType: 'audio/wav',
    fileName: 'audio.wav',
    language: null,
    prompt: null,
    temperature: null,
    timestamps: [],
    ...overrides,
  };
}
