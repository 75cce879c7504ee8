/**
 * Images by Black Forest Labs, which accepts a request and has the result asked for
 * (https://docs.bfl.ml/api_integration/integration_guidelines). A request is sent once; its result is waited for within the
 * time limit of the call. Addresses of images expire after ten minutes.
 */
import type { ImageRequest, ImageResult, ImagesProvider } from '../../contract/images';
import type { CallLimits, ProviderCall } from '../../contract/provider-call';
import { ProviderError } from '../../contract/provider-error';
import { awaitResult, SharedDeadline } from '../../kit/await-result';
import { imageFiltered, imageOfUrl, notImages, pixelsOf, refuseOptions } from '../../kit/image-replies';
import { isJsonObject, type JsonObject, parseJsonObject } from '../../kit/json';
import type { NamedEndpoint, RegionalHosts } from './regional-hosts';

const MODERATED: ReadonlySet<unknown> = new Set(['Request Moderated', 'Content Moderated']);
const FAILED: ReadonlySet<unknown> = new Set(['Error', 'Failed', 'Task not found']);

export class BflImages implements ImagesProvider {
  constructor(private readonly hosts: RegionalHosts) {}

  async generate(request: ImageRequest, call: ProviderCall): Promise<ImageResult> {
    const body = JSON.stringify(toGeneration(request));
    const deadline = new SharedDeadline(call);
    const target = this.hosts.main.endpoint(encodeURIComponent(call.upstreamModel));
    const accepted = await this.hosts.main.post(target, body, { ...call, ...deadline.next() });
    const result = this.locate(accepted);
    return awaitResult(deadline, (limits) => readResult(result, limits));
  }

  /** @throws ProviderError unless the reply says where the result will be */
  private locate(accepted: Buffer): NamedEndpoint {
    const result = this.hosts.locate(parseJsonObject(accepted)?.['polling_url']);
    if (result !== null) return result;
    throw new ProviderError('provider_error', 'The provider did not say where the image will be.', {
      phase: 'first_token',
      fallback: false,
      outcomeUnknown: true,
    });
  }
}

/** Pure. @throws ProviderError `validation_failed` with `param` */
export function toGeneration(request: ImageRequest): JsonObject {
  refuseOptions(request, 'quality', 'style', 'mask');
  const { prompt, size, images } = request;
  const references = images.map(({ bytes }, index) => [
    index === 0 ? 'input_image' : `input_image_${index + 1}`,
    bytes.toString('base64'),
  ]);
  return { prompt, ...(size !== null && pixelsOf(size)), output_format: 'png', ...Object.fromEntries(references) };
}

/** `null`: it is not finished. */
async function readResult({ http, target }: NamedEndpoint, limits: CallLimits): Promise<ImageResult | null> {
  const reply = parseJsonObject(await http.get(target, limits));
  if (reply === null) throw notImages();
  const { status, result } = reply;
  if (MODERATED.has(status)) throw imageFiltered({}, String(status));
  if (FAILED.has(status)) throw notImages('no image');
  if (status !== 'Ready') return null;
  return { images: [imageOfUrl(isJsonObject(result) ? result['sample'] : undefined)], usage: null };
}
