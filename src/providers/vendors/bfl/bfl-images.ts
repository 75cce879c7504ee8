/**
 * Images by Black Forest Labs, whose API accepts a request and is then polled for the result
 * (https://docs.bfl.ml/api_integration/integration_guidelines). A request is sent once; its result is polled within the
 * time limit of the call. Image URLs expire after ten minutes.
 */
import type { ImageRequest, ImageResult, ImagesProvider } from '../../contract/images';
import type { CallLimits, ProviderCall } from '../../contract/provider-call';
import { NO_USAGE, type UsageVector } from '../../contract/usage';
import { ProviderError } from '../../contract/provider-error';
import { awaitResult, SharedDeadline } from '../../kit/await-result';
import { aspectRatioOf, imageOfUrl, maskedImage, notImages, pixelsOf, refuseOptions } from '../../kit/image-replies';
import { isJsonObject, type JsonObject, parseJsonObject } from '../../kit/json';
import { unsupported } from '../../kit/unsupported';
import { contentFiltered } from '../../kit/upstream-errors';
import type { NamedEndpoint, RegionalHosts } from './regional-hosts';

/** The API accepts any ratio from 3:7 to 7:3; common image sizes have one of these. */
const RATIOS = ['1:1', '4:3', '3:4', '3:2', '2:3', '16:9', '9:16', '21:9', '9:21'];
/**
 * The most input images in a request, which has a field for each: https://docs.bfl.ai/guides/prompting_editing_overview
 * and, for Kontext, https://docs.bfl.ml/api-reference/models/edit-or-create-an-image-with-flux-kontext-pro.
 */
const MAX_INPUTS = 8;
const MAX_FEW_INPUTS = 4;
const FEW_INPUTS = /klein|kontext/;
/** Edits the white area of a mask. */
const FILL = /^flux-pro-1\.0-fill/;
const MODERATED: ReadonlySet<unknown> = new Set(['Request Moderated', 'Content Moderated']);
const FAILED: ReadonlySet<unknown> = new Set(['Error', 'Failed']);
/** This status leaves open whether the image was made. */
const LOST = 'Task not found';

export class BflImages implements ImagesProvider {
  constructor(private readonly hosts: RegionalHosts) {}

  async generate(request: ImageRequest, call: ProviderCall): Promise<ImageResult> {
    const body = JSON.stringify(toGeneration(request, call));
    const deadline = new SharedDeadline(call);
    const target = this.hosts.main.endpoint(encodeURIComponent(call.upstreamModel));
    const accepted = await this.hosts.main.post(target, body, { ...call, ...deadline.next() });
    const submission = parseJsonObject(accepted) ?? {};
    const result = this.locate(submission['polling_url']);
    const made = await awaitResult(deadline, (limits) => readResult(result, submission['cost'], limits));
    if (made === 'failed') throw failed();
    return made;
  }

  /** @throws ProviderError unless the reply says where the result will be */
  private locate(address: unknown): NamedEndpoint {
    const result = this.hosts.locate(address);
    if (result !== null) return result;
    throw new ProviderError('provider_error', 'The provider did not return an address for the image.', {
      phase: 'first_token',
      fallback: false,
      outcomeUnknown: true,
    });
  }
}

/** Pure. @throws ProviderError `validation_failed` with `param` */
export function toGeneration(
  request: ImageRequest,
  { quirks, upstreamModel }: Pick<ProviderCall, 'quirks' | 'upstreamModel'>,
): JsonObject {
  if (FILL.test(upstreamModel)) return toFill(request);
  refuseOptions(request, 'quality', 'style', 'mask');
  const { prompt, size, images } = request;
  const maxInputs = FEW_INPUTS.test(upstreamModel) ? MAX_FEW_INPUTS : MAX_INPUTS;
  if (images.length > maxInputs) {
    throw unsupported('input_images', `This model takes at most ${maxInputs} input images.`);
  }
  const references = images.map(({ bytes }, index) => [
    index === 0 ? 'input_image' : `input_image_${index + 1}`,
    bytes.toString('base64'),
  ]);
  const measures = size === null ? {} : quirks.imageSize === 'aspect_ratio' ? toRatio(size) : pixelsOf(size);
  return { prompt, ...measures, output_format: 'png', ...Object.fromEntries(references) };
}

/** Fill models return an image in the size of the input image (https://docs.bfl.ml/flux_tools/flux_1_fill). */
function toFill(request: ImageRequest): JsonObject {
  refuseOptions(request, 'size', 'quality', 'style');
  const { image, mask } = maskedImage(request);
  return {
    prompt: request.prompt,
    image: image.bytes.toString('base64'),
    mask: mask.bytes.toString('base64'),
    output_format: 'png',
  };
}

/** Kontext and Ultra models take an aspect ratio instead of a size. */
function toRatio(size: string): JsonObject {
  return { aspect_ratio: aspectRatioOf(size, RATIOS) };
}

/** @returns `null` while the image is not finished, `failed` if there will be none */
async function readResult(
  { http, target }: NamedEndpoint,
  announced: unknown,
  limits: CallLimits,
): Promise<ImageResult | 'failed' | null> {
  const reply = parseJsonObject(await http.get(target, limits));
  if (reply === null) throw notImages();
  const { status, result, cost } = reply;
  if (MODERATED.has(status)) throw contentFiltered({}, String(status));
  if (FAILED.has(status)) return 'failed';
  if (status === LOST) throw notImages('no image');
  if (status !== 'Ready') return null;
  const image = imageOfUrl(isJsonObject(result) ? result['sample'] : undefined);
  return { images: [image], usage: toBill(cost) ?? toBill(announced) };
}

function failed(): ProviderError {
  return new ProviderError('provider_error', 'The provider failed to make the image.', {
    phase: 'first_token',
    fallback: false,
  });
}

/** The cost in credits, which the vendor may report with the submission, with the result, or not at all. */
function toBill(cost: unknown): UsageVector | null {
  return typeof cost === 'number' && cost > 0 ? { ...NO_USAGE, images: 1, units: cost } : null;
}
