import { type Modality, modalitiesOf, type ModalityGroup } from '../../core/types/modality';

/** The operations of `/v1` that cost credits, and so write a receipt, with the `@Modality()` of their routes. */
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

export function operationsOf(group: ModalityGroup): Operation[] {
  const modalities = modalitiesOf(group);
  return OPERATIONS.filter((operation) => modalities.includes(OPERATION_MODALITIES[operation]));
}
