import { ArrayMaxSize, IsInt, IsOptional, Max, Min } from 'class-validator';
import { MAX_API_KEYS, MAX_WEIGHT } from '../../../core/config/provider-instances';
import { CodePointLength } from '../../../core/validation/code-points';
import { NestedArray } from '../../../core/validation/nested';

/** The document's `CredentialUpdate`. */
export class CredentialUpdateDto {
  @CodePointLength(1, 4096)
  value!: string;
}

/** The document's `ProviderKeyUpdate`. */
export class ProviderKeyUpdateDto {
  @IsOptional()
  @CodePointLength(1, 64)
  id?: string | null;

  @IsOptional()
  @CodePointLength(1, 4096)
  key?: string | null;

  @IsOptional()
  @IsInt()
  @Min(1)
  @Max(MAX_WEIGHT)
  weight?: number | null;
}

/** The document's `ProviderInstanceUpdate`. */
export class ProviderInstanceUpdateDto {
  @CodePointLength(1, 63)
  module!: string;

  @IsOptional()
  @CodePointLength(1, 2048)
  base_url?: string | null;

  @ArrayMaxSize(MAX_API_KEYS)
  @NestedArray(ProviderKeyUpdateDto)
  api_keys!: ProviderKeyUpdateDto[];

  @IsOptional()
  @CodePointLength(1, 40)
  expected_updated_at?: string | null;
}
