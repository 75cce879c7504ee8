import { imageRequest } from '../../../../test/conformance/media-requests';
import { PNG } from '../../../../test/conformance/media-uses';
import { toWorkflow } from './fireworks-images';

describe('toWorkflow', () => {
  it('sends the aspect ratio of a size', () => {
    expect(toWorkflow(imageRequest({ size: '1344x768' }))).toEqual({ prompt: 'a lighthouse', aspect_ratio: '16:9' });
    expect(toWorkflow(imageRequest())).toEqual({ prompt: 'a lighthouse' });
  });

  it.each([
    ['input_images', { images: [PNG] }],
    ['quality', { quality: 'high' }],
    ['size', { size: '1000x300' }],
  ])('refuses another %s before the call', (param, option) => {
    expect(() => toWorkflow(imageRequest(option))).toThrow(
      expect.objectContaining({ options: expect.objectContaining({ param, phase: 'connect' }) }),
    );
  });
});
