import { GatewayError } from '../common/errors/gateway-error';
import type { CatalogModel } from '../models/catalog-model';
import type { SpeechRequest } from '../providers/contract/speech';

/** What a model lacks for a request. */
interface Lack {
  readonly param: string;
  readonly message: string;
  /** What it takes instead. */
  readonly allowed?: readonly string[];
}

/**
 * Requires that the model can speak as it is asked to, by the catalogue: before anything is looked up or held.
 * @throws GatewayError `validation_failed` with `param`, and in `details.allowed` what the model takes
 */
export function assertCanSpeak(model: CatalogModel, request: SpeechRequest): void {
  const lack = findLack(model, request);
  if (lack === null) return;
  const { param, message, allowed } = lack;
  throw new GatewayError('validation_failed', message, { param, details: allowed && { allowed } });
}

/** The same for a model that may stand in. */
export function canSpeak(model: CatalogModel, request: SpeechRequest): boolean {
  return findLack(model, request) === null;
}

/** A model that lists no voices or formats takes any: nobody knows what a server of one's own has been given. */
function findLack({ id, media, features }: CatalogModel, request: SpeechRequest): Lack | null {
  const { voice, format, speed, instructions } = request;
  if (media?.voices?.includes(voice) === false) {
    return { param: 'voice', message: `${id} has no such voice.`, allowed: media.voices };
  }
  if (media?.formats?.includes(format) === false) {
    return { param: 'response_format', message: `${id} does not speak in this format.`, allowed: media.formats };
  }
  if (features.speed === false && speed !== null && speed !== 1) {
    return { param: 'speed', message: `The speed of ${id} cannot be chosen.` };
  }
  if (features.instructions !== true && instructions !== null && instructions !== '') {
    return { param: 'instructions', message: `${id} cannot be told how to speak.` };
  }
  return null;
}
