/**
 * Dialect `openai-media`, images: `POST …/images/generations` and `…/images/edits`. Sizes, qualities and styles have
 * been checked against the catalogue and are forwarded unchanged.
 */
import type { ImageRequest, ImageResult, ImagesProvider } from '../../contract/images';
import type { ProviderCall } from '../../contract/provider-call';
import type { UpstreamHttp } from '../../kit/upstream-http';
import { ImageReply } from './image-reply';
import { toImageEdit, toImageGeneration } from './to-image-request';

export class OpenAiImages implements ImagesProvider {
  private readonly generations: string;
  private readonly edits: string;

  constructor(private readonly http: UpstreamHttp) {
    this.generations = http.endpoint('images/generations');
    this.edits = http.endpoint('images/edits');
  }

  generate(request: ImageRequest, call: ProviderCall): Promise<ImageResult> {
    return new Promise((resolve, reject) => {
      const reply = new ImageReply(request.count, resolve, reject);
      if (request.images.length === 0) {
        const body = JSON.stringify(toImageGeneration(request, call));
        this.http.postForPieces(this.generations, body, call, reply);
      } else {
        this.http.postForPieces(this.edits, toImageEdit(request, call), call, reply);
      }
    });
  }
}
