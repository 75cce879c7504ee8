import { Transform } from 'class-transformer';
import { IsIn, IsObject, IsOptional, IsString } from 'class-validator';
import type { Modality } from '../../core/types/modality';

/** The operations of `/v1` that spend, and the `@Modality()` of their routes. */
export const EXPLAINED_OPERATIONS = {
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
export type ExplainedOperation = keyof typeof EXPLAINED_OPERATIONS;

/** The document's `ExplainRequest`. */
export class ExplainRequestDto {
  @IsString()
  key_id!: string;

  @IsIn(Object.keys(EXPLAINED_OPERATIONS))
  operation!: ExplainedOperation;

  @IsOptional()
  @IsString()
  client_ip?: string | null;

  /** As received: the pipe copies objects, and the copy leaves out some names. */
  @Transform(({ obj }: { obj: ExplainRequestDto }) => obj.request)
  @IsObject()
  request!: Record<string, unknown>;
}
