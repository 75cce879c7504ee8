import { IsIn, IsOptional } from 'class-validator';
import { NestedObject } from '../../core/validation/nested';

const TEXT_FORMATS = ['text', 'json_object', 'json_schema'] as const;

export class ResponseTextFormatDto {
  @IsIn(TEXT_FORMATS)
  type!: (typeof TEXT_FORMATS)[number];
}

export class ResponseTextOptionsDto {
  @IsOptional()
  @NestedObject(ResponseTextFormatDto)
  format?: ResponseTextFormatDto | null;
}
