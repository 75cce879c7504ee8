import { Matches } from 'class-validator';
import { IMAGE_SOURCE } from '../../contract/patterns';

/** Image URLs or base64 images; their content is checked later. */
export function AreImageSources(): PropertyDecorator {
  const message = 'each of $property must be an https URL, a data URL of an image, or base64';
  return Matches(IMAGE_SOURCE, { each: true, message });
}
