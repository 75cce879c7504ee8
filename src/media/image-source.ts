import { Matches } from 'class-validator';
import { IMAGE_SOURCE } from '../contract/patterns';

/** Addresses of images, or images in base64; what they hold is looked at later. */
export function AreImageSources(): PropertyDecorator {
  const message = 'each of $property must be an https address, a data address of an image, or base64';
  return Matches(IMAGE_SOURCE, { each: true, message });
}
