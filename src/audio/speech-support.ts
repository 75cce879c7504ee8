import { GatewayError } from '../core/errors/gateway-error';
import type { CatalogModel } from '../models/catalog-model';
import type { SpeechRequest } from '../providers/contract/speech';

/** An option of a request that a model does not support. */
interface Mismatch {
  readonly param: string;
  readonly message: string;
  /** The supported values. */
  readonly allowed?: readonly string[];
}

/**
 * Checks in the catalogue that the model supports the request, before the idempotency look-up and the hold.
 * @throws GatewayError `validation_failed` with `param`, and the supported values in `details.allowed`
 */
export function assertCanSpeak(model: CatalogModel, request: SpeechRequest): void {
  const mismatch = findMismatch(model, request);
  if (mismatch === null) return;
  const { param, message, allowed } = mismatch;
  throw new GatewayError('validation_failed', message, { param, details: allowed && { allowed } });
}

/** The same check for a fallback model. */
export function canSpeak(model: CatalogModel, request: SpeechRequest): boolean {
  return findMismatch(model, request) === null;
}

/** A model without listed voices or formats accepts any: those of self-hosted servers are unknown. */
function findMismatch({ id, media, features }: CatalogModel, request: SpeechRequest): Mismatch | null {
  const { voice, format, speed, instructions } = request;
  if (media?.voices?.includes(voice) === false) {
    return { param: 'voice', message: `${id} does not have this voice.`, allowed: media.voices };
  }
  if (media?.formats?.includes(format) === false) {
    return { param: 'response_format', message: `${id} does not support this format.`, allowed: media.formats };
  }
  if (features.speed === false && speed !== null && speed !== 1) {
    return { param: 'speed', message: `${id} does not support speed.` };
  }
  if (features.instructions !== true && instructions !== null && instructions !== '') {
    return { param: 'instructions', message: `${id} does not support instructions.` };
  }
  return null;
}
