import type { Modality } from '../common/modality';

/** The operations that leave a receipt, and what kind of model each asks. */
export const OPERATION_MODALITIES = {
  createChatCompletion: 'text',
  createCompletion: 'text',
  createResponse: 'text',
  createEmbedding: 'embedding',
  createImage: 'image',
  createImageEdit: 'image',
  createSpeech: 'speech',
  createTranscription: 'transcription',
  createVideo: 'video',
  createMusic: 'music',
} as const satisfies Readonly<Record<string, Modality>>;

export type Operation = keyof typeof OPERATION_MODALITIES;

export const OPERATIONS = Object.keys(OPERATION_MODALITIES) as readonly Operation[];

export function operationsOf(modality: Modality): Operation[] {
  return OPERATIONS.filter((operation) => OPERATION_MODALITIES[operation] === modality);
}
