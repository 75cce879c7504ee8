import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { type CatalogSource, ModelEntity } from './model.entity';

/** A deployment of a model. The id is derived from its definition, so that every import finds the same row. */
@Entity('deployment')
@Check('deployment_source_check', `source IN ('builtin', 'file', 'admin')`)
@Check('deployment_weight_check', 'weight > 0')
@Check('deployment_decided_check', 'decided_priority >= 0 AND decided_weight > 0')
@Index('deployment_model_id_index', ['modelId'])
export class DeploymentEntity {
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'deployment_pkey' })
  id!: string;

  @Column('text')
  @ForeignKey(() => ModelEntity, { name: 'deployment_model_id_fkey' })
  modelId!: string;

  @Column('text')
  provider!: string;

  @Column('text')
  upstreamModel!: string;

  /** `null`: the provider's own wire format. */
  @Column('text', { nullable: true })
  dialect!: string | null;

  /** Lowest first. */
  @Column('integer')
  priority!: number;

  @Column('integer')
  weight!: number;

  @Column('jsonb')
  quirks!: object;

  /** Other keys of the catalogue file, stored verbatim. */
  @Column('jsonb')
  settings!: object;

  @Column('text')
  source!: CatalogSource;

  @Column('boolean')
  enabled!: boolean;

  /** This and the next two columns are an operator's overrides of the files; `null`: none. */
  @Column('boolean', { nullable: true })
  decidedEnabled!: boolean | null;

  @Column('integer', { nullable: true })
  decidedPriority!: number | null;

  @Column('integer', { nullable: true })
  decidedWeight!: number | null;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt!: Date;
}
