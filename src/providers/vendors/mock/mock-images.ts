import type { Clock } from '../../../core/time/clock';
import type { GeneratedImage, ImageRequest, ImageResult, ImagesProvider } from '../../contract/images';
import type { ProviderCall } from '../../contract/provider-call';
import { NO_USAGE, type UsageVector } from '../../contract/usage';
import { CallTimer } from './call-timer';
import { describeInputs, drawPng } from './media/picture';
import { readScript, type Script } from './script';
import { partialFailure } from './scripted-fault';
import { waitForReply } from './scripted-fault';

const DEFAULT_SIZE = '1024x1024';
const LONGEST_SIDE = 4096;
const TOKENS_PER_BYTE = 0.25;
const TOKENS_PER_IMAGE = 1_000;

/** Images without a model: PNG files derived from the prompt. It has no host, so it never returns URLs. */
export class MockImages implements ImagesProvider {
  private readonly numbering = new ImageNumbering();

  constructor(private readonly clock: Clock) {}

  async generate(request: ImageRequest, call: ProviderCall): Promise<ImageResult> {
    const timer = new CallTimer(call, this.clock);
    timer.check('headers');
    const { script, text } = readScript(request.prompt, 'prompt');
    const numbers = this.numbering.begin(call, request.count);
    try {
      await waitForReply(script, timer, this.clock, (script.delayMs ?? 0) * request.count);
      const wanted = numbers.filter((number) => number !== script.failImage);
      if (wanted.length === 0) throw partialFailure();
      const images: GeneratedImage[] = [];
      for (const number of wanted) {
        images.push(await draw(request, text, number, call));
        timer.check('first_token');
      }
      const revisedPrompt = script.revise === true ? `${text.trim()}, drawn by a mock` : null;
      return {
        images: images.map((image) => ({ ...image, revisedPrompt })),
        usage: usageOf(script, text, images.length),
      };
    } finally {
      this.numbering.end(call);
    }
  }
}

/** @param number Index of the image in the request, from 1: each is different. */
async function draw(
  { size: requested, quality, style, images, mask }: ImageRequest,
  prompt: string,
  number: number,
  call: ProviderCall,
): Promise<GeneratedImage> {
  const size = /^\d+x\d+$/.test(requested ?? '') ? String(requested) : DEFAULT_SIZE;
  const [width = 0, height = 0] = size.split('x').map((side) => Math.min(Math.max(Number(side), 1), LONGEST_SIDE));
  const options = [quality, style].filter((option) => option !== null);
  const caption = [call.publicModel, ...options, `image ${number}`].join(' · ');
  const description = [prompt.trim(), ...describeInputs(images, mask), caption].join('\n');
  return { bytes: await drawPng(description, width, height), revisedPrompt: null };
}

/** Reported only if scripted: like most upstreams the mock does not count images. */
function usageOf({ usagePrompt, usageCompletion }: Script, prompt: string, images: number): UsageVector | null {
  if (usagePrompt === undefined && usageCompletion === undefined) return null;
  return {
    ...NO_USAGE,
    inputText: usagePrompt ?? Math.ceil(Buffer.byteLength(prompt) * TOKENS_PER_BYTE),
    outputImage: usageCompletion ?? images * TOKENS_PER_IMAGE,
    images,
  };
}

/** Numbers images consecutively when one attempt makes several concurrent calls. */
class ImageNumbering {
  private readonly attempts = new Map<string, { given: number; running: number }>();

  begin(call: ProviderCall, count: number): number[] {
    const attempt = this.attempts.get(keyOf(call)) ?? { given: 0, running: 0 };
    this.attempts.set(keyOf(call), attempt);
    attempt.running += 1;
    return Array.from({ length: count }, () => ++attempt.given);
  }

  end(call: ProviderCall): void {
    const attempt = this.attempts.get(keyOf(call));
    if (attempt !== undefined && --attempt.running === 0) this.attempts.delete(keyOf(call));
  }
}

function keyOf({ requestId, attempt }: ProviderCall): string {
  return `${requestId} ${attempt}`;
}
