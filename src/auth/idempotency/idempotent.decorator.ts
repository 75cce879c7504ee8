import { SetMetadata } from '@nestjs/common';

/** Metadata key of `@Idempotent()`. */
export const IDEMPOTENT = Symbol('Idempotent');

export interface IdempotentOptions {
  /** Whether a request without a key is refused. */
  readonly required: boolean;
}

/**
 * Makes a route idempotent: with an `Idempotency-Key` a request runs once (README.md). Other routes ignore the header.
 */
export const Idempotent = ({ required }: IdempotentOptions = { required: false }): MethodDecorator =>
  SetMetadata(IDEMPOTENT, { required } satisfies IdempotentOptions);
