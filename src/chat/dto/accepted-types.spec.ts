import { compileValidator } from '../../core/validation/valid-body.pipe';
import { CompletionRequestDto } from '../completions/dto/completion-request.dto';
import { ChatCompletionRequestDto } from './chat-completion-request.dto';

describe('the message for a value of a wrong type', () => {
  const chatIssuesOf = compileValidator(ChatCompletionRequestDto);
  const user = { role: 'user', content: 'hi' };

  it.each(['developer', 'system', 'user', 'assistant', 'tool'])(
    'names both types that the content of a %s message may have',
    (role) => {
      const issues = chatIssuesOf({ model: 'm/m', messages: [{ role, content: 5, tool_call_id: '1' }] });
      const message = 'messages[0].content must be a string or an array';
      expect(issues).toEqual([{ param: 'messages[0].content', message }]);
    },
  );

  it.each([
    ['tool_choice', 'any', 'an object or one of the following values: none, auto, required'],
    ['function_call', 'any', 'an object or one of the following values: none, auto'],
  ])('names both kinds of value that %s accepts', (param, value, types) => {
    const issues = chatIssuesOf({ model: 'm/m', messages: [user], [param]: value });
    expect(issues).toEqual([{ param, message: `${param} must be ${types}` }]);
  });

  it.each([[5], [{}], [[]], [null], [undefined]])('names both types that prompt accepts, for %j', (prompt) => {
    const message = 'prompt must be a string or an array of one string';
    expect(compileValidator(CompletionRequestDto)({ model: 'm/m', prompt })).toEqual([{ param: 'prompt', message }]);
  });
});
