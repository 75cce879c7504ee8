/**
 * Images by Recraft, in OpenAI's format except for masked edits, which have their own endpoint and model
 * (https://www.recraft.ai/docs/api-reference/tools/inpainting). A masked edit keeps the size of the input image.
 */
import type { ImageRequest, ImageResult, ImagesProvider } from '../../contract/images';
import type { ProviderCall } from '../../contract/provider-call';
import { ImageReply, OpenAiImages, toImageEdit } from '../../dialects/openai-media/openai-images';
import { maskedImage, refuseOptions } from '../../kit/image-replies';
import type { UpstreamHttp } from '../../kit/upstream-http';

export class RecraftImages implements ImagesProvider {
  private readonly generations: OpenAiImages;
  private readonly inpainting: string;

  constructor(private readonly http: UpstreamHttp) {
    this.generations = new OpenAiImages(http);
    this.inpainting = http.endpoint('images/inpaint');
  }

  async generate(request: ImageRequest, call: ProviderCall): Promise<ImageResult> {
    if (request.mask === null) return this.generations.generate(request, call);
    refuseOptions(request, 'size', 'quality');
    maskedImage(request);
    return new Promise((resolve, reject) => {
      const reply = new ImageReply(request.count, resolve, reject);
      this.http.postForPieces(this.inpainting, toImageEdit(request, call), call, reply);
    });
  }
}
