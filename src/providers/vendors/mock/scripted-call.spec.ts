import { ProviderError } from '../../contract/provider-error';
import { readScript } from './scripted-call';

const read = (text: string) => readScript(text, 'messages[0].content');

function refusalOf(text: string): ProviderError {
  try {
    read(text);
  } catch (error) {
    if (error instanceof ProviderError) return error;
  }
  throw new Error('The directive was accepted.');
}

describe('readScript', () => {
  it('does not change a prompt without a directive', () => {
    expect(read('Hello [[world]]')).toEqual({ script: {}, text: 'Hello [[world]]' });
  });

  it('reads counts, durations and flags and removes the directive from the text', () => {
    expect(read('Say [[mock: status=429 retry_after=7, first_token=2s drip=50ms hang]]hi')).toEqual({
      script: { status: 429, retryAfter: '7', firstTokenMs: 2000, delayMs: 50, hang: true },
      text: 'Say hi',
    });
  });

  it('combines several directives', () => {
    expect(read('[[mock: chunks=100]] a [[mock: delay=0 usage_prompt=5 usage_completion=7]]').script).toEqual({
      chunks: 100,
      delayMs: 0,
      usagePrompt: 5,
      usageCompletion: 7,
    });
  });

  it('reports an unknown key and its location', () => {
    const error = refusalOf('[[mock: statsu=500]]');
    expect(error.code).toBe('validation_failed');
    expect(error.message).toContain('"statsu"');
    expect(error.options).toMatchObject({ param: 'messages[0].content', fallback: false });
  });

  it.each(['status=200', 'status', 'tokens=0', 'tokens=1000000', 'delay=soon', 'drip=-1', 'hang=yes', 'reset_after'])(
    'refuses the value of %s',
    (directive) => {
      const error = refusalOf(`[[mock: ${directive}]]`);
      expect(error.code).toBe('validation_failed');
      expect(error.message).toContain(`"${directive.split('=')[0]}"`);
    },
  );

  it('treats an unclosed directive as text, in linear time', () => {
    const text = '[[mock:'.repeat(100_000);
    expect(read(text)).toEqual({ script: {}, text });
  });
});
