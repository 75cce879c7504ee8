import { Check, Column, Entity, PrimaryColumn } from 'typeorm';
import type { Modality } from '../../types/modality';

/** The author of a catalogue row. The import changes only its own rows, never those of `admin`. */
export type CatalogSource = 'builtin' | 'file' | 'admin';

/**
 * A model of the catalogue. Rows are disabled, never deleted: usage records and prices refer to them. The JSON columns
 * are typed where the catalogue is read and written (`models/catalog-rows.ts`).
 */
@Entity('model')
@Check(
  'model_modality_check',
  `modality IN ('text', 'embedding', 'image', 'speech', 'transcription', 'video', 'music')`,
)
@Check('model_status_check', `status IN ('active', 'deprecated', 'disabled')`)
@Check('model_source_check', `source IN ('builtin', 'file', 'admin')`)
@Check('model_enabled_check', `NOT enabled OR status <> 'disabled'`)
@Check('model_limits_check', 'context_length > 0 AND max_output_tokens > 0')
export class ModelEntity {
  /** `<vendor>/<name>`. */
  @PrimaryColumn('text', { primaryKeyConstraintName: 'model_pkey' })
  id!: string;

  @Column('text')
  displayName!: string;

  @Column('text')
  modality!: Modality;

  @Column('text', { array: true })
  inputModalities!: string[];

  @Column('text', { array: true })
  outputModalities!: string[];

  @Column('text')
  status!: 'active' | 'deprecated' | 'disabled';

  @Column('date', { nullable: true })
  releasedOn!: string | null;

  /** The first day on which the model is no longer offered. */
  @Column('date', { nullable: true })
  retiresOn!: string | null;

  @Column('text', { array: true })
  aliases!: string[];

  @Column('integer', { nullable: true })
  contextLength!: number | null;

  @Column('integer', { nullable: true })
  maxOutputTokens!: number | null;

  @Column('jsonb')
  features!: object;

  @Column('double precision')
  tokensPerByte!: number;

  @Column('jsonb', { nullable: true })
  media!: object | null;

  /** The rate limits of all callers together; `null`: no limit. */
  @Column('jsonb', { nullable: true })
  limits!: object | null;

  @Column('text')
  source!: CatalogSource;

  /** `false` also when the model has no price or was removed from the files. */
  @Column('boolean')
  enabled!: boolean;

  /** An operator's override of the files; `null`: none. */
  @Column('boolean', { nullable: true })
  decidedEnabled!: boolean | null;

  /** Limits set by an operator, or removed with `null`; the others come from the files. */
  @Column('jsonb', { nullable: true })
  decidedLimits!: object | null;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt!: Date;
}
