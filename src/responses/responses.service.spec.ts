import type { ChatInference } from '../chat/chat.service';
import { GatewayError } from '../core/errors/gateway-error';
import { EventStream, type LiveOutput } from '../core/http/answer';
import { systemClock } from '../core/time/clock';
import type { RequestContext } from '../core/types/request-context';
import { ResponsesService } from './responses.service';

const REFUSAL = new GatewayError('validation_failed', 'No images in messages[0].content[1].', {
  param: 'messages[0].content[1]',
});
const CONTENT = [
  { type: 'input_text', text: 'a' },
  { type: 'input_image', image_url: 'https://a.example/a.png' },
];

it('names fields of the request in failures of a stream, before and after it has begun', async () => {
  const stream = new EventStream(
    () => Promise.reject(REFUSAL),
    () => ({ modelId: 'm/m', costMicro: 0n }),
    ({ param, message }) => `${param}: ${message}`,
  );
  const inference = { answer: async () => stream } as unknown as ChatInference;
  const body = { model: 'm/m', stream: true, input: [{ role: 'user', content: CONTENT }] };
  const answer = await new ResponsesService(inference, systemClock).answer(body, {
    requestId: 'req_1',
  } as RequestContext);
  if (!(answer instanceof EventStream)) throw new Error('no stream');
  const expected = { param: 'input[0].content[1]', message: 'No images in input[0].content[1].' };
  await expect(answer.produce({} as LiveOutput)).rejects.toMatchObject(expected);
  expect(answer.failureEvents(REFUSAL)).toBe(`${expected.param}: ${expected.message}`);
});
