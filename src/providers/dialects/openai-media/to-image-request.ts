import { givesImageUrls, type ImageRequest } from '../../contract/images';
import type { ProviderCall, Quirks } from '../../contract/provider-call';
import type { JsonObject } from '../../kit/json-object';
import { type FormPart, MultipartBody } from '../../kit/multipart-body';

/** The body of `POST …/images/generations`. Pure. */
export function toImageGeneration(request: ImageRequest, call: ProviderCall): JsonObject {
  return fieldsOf(request, call);
}

/** The body of `POST …/images/edits`. The files are not copied. */
export function toImageEdit(request: ImageRequest, call: ProviderCall): MultipartBody {
  const parts: FormPart[] = Object.entries(fieldsOf(request, call)).map(([name, value]) => ({
    name,
    value: String(value),
  }));
  // Lists use a separate field name; hosts that take one image only know the singular name.
  const name = request.images.length > 1 ? 'image[]' : 'image';
  request.images.forEach(({ bytes, contentType }, index) =>
    parts.push({ name, fileName: `image-${index + 1}${extensionOf(contentType)}`, contentType, bytes }),
  );
  if (request.mask !== null) {
    const { bytes, contentType } = request.mask;
    parts.push({ name: 'mask', fileName: `mask${extensionOf(contentType)}`, contentType, bytes });
  }
  return new MultipartBody(parts);
}

/** Fields that generations and edits share, without unset ones. */
function fieldsOf(request: ImageRequest, { upstreamModel, quirks }: ProviderCall): Record<string, string | number> {
  const { prompt, count, size, quality, style, user } = request;
  const format = responseFormat(request, quirks);
  return {
    model: upstreamModel,
    prompt,
    n: count,
    ...(size !== null && { size }),
    ...(quality !== null && { quality }),
    ...(style !== null && { style }),
    ...(user !== null && quirks.dropFields?.includes('user') !== true && { user }),
    ...(format !== null && { response_format: format }),
  };
}

/** `null` where the upstream has only one format and refuses the field. */
function responseFormat({ delivery }: ImageRequest, quirks: Quirks): string | null {
  const { imageResponseFormat } = quirks;
  if (imageResponseFormat === 'none') return null;
  if (delivery === 'url' && givesImageUrls(quirks)) return 'url';
  return imageResponseFormat ?? 'b64_json';
}

/** Upstreams judge files by their names. */
function extensionOf(contentType: string): string {
  return contentType.replace('image/', '.');
}
