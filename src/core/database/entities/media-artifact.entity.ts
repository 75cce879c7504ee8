import { Check, Column, Entity, ForeignKey, Index, PrimaryGeneratedColumn } from 'typeorm';
import { MediaJobEntity } from './media-job.entity';

/** An output file of a job; the object itself is in storage. */
@Entity('media_artifact')
@Check('media_artifact_type_check', `type IN ('video', 'audio')`)
@Check(
  'media_artifact_size_check',
  'size_bytes >= 0 AND duration_seconds >= 0 AND width > 0 AND height > 0 AND num_nonnulls(width, height) <> 1',
)
@Index('media_artifact_job_index', ['jobId', 'position'], { unique: true })
@Index('media_artifact_created_index', ['createdAt'])
export class MediaArtifactEntity {
  @PrimaryGeneratedColumn('uuid', { primaryKeyConstraintName: 'media_artifact_pkey' })
  id!: string;

  @Column('uuid')
  @ForeignKey(() => MediaJobEntity, { name: 'media_artifact_job_id_fkey' })
  jobId!: string;

  /** Counts from 0. */
  @Column('smallint')
  position!: number;

  @Column('text')
  type!: string;

  @Column('text')
  contentType!: string;

  @Column('bigint')
  sizeBytes!: string;

  @Column('integer', { nullable: true })
  width!: number | null;

  @Column('integer', { nullable: true })
  height!: number | null;

  @Column('double precision')
  durationSeconds!: number;

  @Column('text')
  storageKey!: string;

  @Column('timestamptz')
  createdAt!: Date;
}
