import { tinyPng } from '../../../../test/conformance/media-answers';
import { imageRequest } from '../../../../test/conformance/media-requests';
import { fromImageReply, toImageRequest } from './gemini-images';

describe('toImageRequest', () => {
  it.each([
    ['1024x1024', '1:1', '1K'],
    ['1264x848', '3:2', '1K'],
    ['1376x768', '16:9', '1K'],
    ['848x1264', '2:3', '1K'],
    ['2048x2048', '1:1', '2K'],
    ['4096x4096', '1:1', '4K'],
    ['512x512', '1:1', '512'],
  ])('names the aspect ratio and the resolution of %s', (size, aspectRatio, imageSize) => {
    expect(toImageRequest(imageRequest({ size }))).toMatchObject({
      generationConfig: { responseModalities: ['IMAGE'], imageConfig: { aspectRatio, imageSize } },
    });
  });

  it.each([{ size: '1000x333' }, { size: 'big' }, { quality: 'high' }, { style: 'vivid' }])(
    'refuses %p before the call',
    (option) => {
      const [param] = Object.keys(option);
      expect(() => toImageRequest(imageRequest(option))).toThrow(
        expect.objectContaining({ options: expect.objectContaining({ param, phase: 'connect' }) }),
      );
    },
  );
});

describe('fromImageReply', () => {
  const read = (reply: object) => () => fromImageReply(Buffer.from(JSON.stringify(reply)));
  const filtered = expect.objectContaining({
    code: 'validation_failed',
    options: expect.objectContaining({ details: expect.objectContaining({ reason: 'content_filtered' }) }),
  });

  it.each([
    ['without details', undefined, { outputText: 0, outputImage: 1_200 }],
    ['with details', [{ modality: 'IMAGE', tokenCount: 1_120 }], { outputText: 80, outputImage: 1_120 }],
  ])('counts output tokens %s as those of the image', (_name, candidatesTokensDetails, expected) => {
    const inlineData = { mimeType: 'image/png', data: tinyPng().toString('base64') };
    const counts = { promptTokenCount: 10, candidatesTokenCount: 1_200, thoughtsTokenCount: 7 };
    const usageMetadata = { ...counts, candidatesTokensDetails };
    const { usage } = read({ candidates: [{ content: { parts: [{ inlineData }] } }], usageMetadata })();
    expect(usage).toMatchObject({ ...expected, inputText: 10, outputReasoning: 7, images: 1 });
  });

  it('reports a blocked prompt and a withheld image as filtered content', () => {
    expect(read({ promptFeedback: { blockReason: 'PROHIBITED_CONTENT' } })).toThrow(filtered);
    expect(read({ candidates: [{ finishReason: 'IMAGE_PROHIBITED_CONTENT' }] })).toThrow(filtered);
    expect(read({ candidates: [{ finishReason: 'NO_IMAGE' }] })).toThrow('no images');
  });

  it.each(['MALFORMED_RESPONSE', 'CONTINUATION', 'UNEXPECTED_TOOL_CALL', 'FINISH_REASON_UNSPECIFIED', 'NEW_REASON'])(
    'does not blame the prompt for an end with %s',
    (finishReason) => {
      expect(read({ candidates: [{ finishReason }] })).toThrow(expect.objectContaining({ code: 'provider_error' }));
    },
  );
});
