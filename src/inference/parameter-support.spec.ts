import type { ModelFeatures, Quirks } from '../providers/contract/provider-call';
import { unsupported } from '../providers/kit/unsupported';
import type { Candidate } from './inference.types';
import { requiredAcceptance, requiredSupport, supportsParameters } from './parameter-support';

const ABLE: ModelFeatures = {
  tools: true,
  parallel_tools: true,
  json_schema: true,
  vision: true,
  logprobs: true,
  completions: true,
  dimensions: true,
};
const supports = (
  fields: object,
  features: ModelFeatures,
  quirks: Quirks = {},
  inputModalities: readonly string[] = ['text'],
): boolean =>
  supportsParameters({ model: 'v/one', messages: [{ role: 'user', content: 'hi' }], ...fields }, {
    features,
    quirks,
    model: { inputModalities },
  } as Candidate);
const showing = (type: string) => [{ role: 'user', content: [{ type: 'text' }, { type }] }];

describe('require_parameters', () => {
  it.each<[string, object]>([
    ['tools', { tools: [{ type: 'function' }] }],
    ['parallel_tool_calls', { parallel_tool_calls: true }],
    ['json_schema', { response_format: { type: 'json_schema' } }],
    ['logprobs', { logprobs: true }],
    ['images', { messages: showing('image_url') }],
    ['suffix', { suffix: 'the end' }],
    ['dimensions', { dimensions: 8 }],
  ])('requires the catalogue to list %s', (_feature, fields) => {
    expect(supports(fields, ABLE)).toBe(true);
    expect(supports(fields, {})).toBe(false);
  });

  it.each([
    ['pdf', 'file'],
    ['audio', 'input_audio'],
  ])('requires the catalogue to list %s as input', (modality, type) => {
    const messages = showing(type);
    expect(supports({ messages }, {}, {}, ['text', modality])).toBe(true);
    expect(supports({ messages }, ABLE)).toBe(false);
  });

  it('excludes deployments whose provider refuses the request itself', () => {
    const routing = { require_parameters: true };
    const candidate = {} as Candidate;
    const refused = requiredAcceptance(routing, () => {
      throw unsupported('logit_bias');
    });
    expect(refused?.(candidate)).toBe(true);
    expect(requiredAcceptance(routing, () => undefined)?.(candidate)).toBe(false);
    expect(requiredAcceptance({}, () => undefined)).toBeUndefined();
  });

  it('applies only when the request sets it', () => {
    const candidate = { features: {}, quirks: {} } as Candidate;
    const request = { input: 'hi', dimensions: 8 };
    expect(requiredSupport(null, request)).toBeUndefined();
    expect(requiredSupport({ require_parameters: false }, request)).toBeUndefined();
    expect(requiredSupport({ require_parameters: true }, request)?.(candidate)).toBe(false);
  });

  it('accepts JSON mode and reasoning efforts only when the catalogue lists them', () => {
    expect(supports({ response_format: { type: 'json_object' } }, { json_object: true })).toBe(true);
    expect(supports({ response_format: { type: 'json_object' } }, { json_schema: true })).toBe(false);
    expect(supports({ response_format: { type: 'text' } }, {})).toBe(true);
    expect(supports({ reasoning_effort: 'high' }, { reasoning: ['low', 'high'] })).toBe(true);
    expect(supports({ reasoning_effort: 'max' }, { reasoning: ['low', 'high'] })).toBe(false);
  });

  it('excludes deployments that drop or reject a field', () => {
    expect(supports({ seed: 1 }, {})).toBe(true);
    expect(supports({ seed: 1 }, {}, { dropFields: ['seed'] })).toBe(false);
    expect(supports({ seed: 1 }, {}, { rejectFields: ['seed'] })).toBe(false);
    expect(supports({ temperature: 0 }, { sampling: false })).toBe(false);
  });

  it('ignores empty and disabled fields', () => {
    expect(supports({ tools: [], logprobs: false, parallel_tool_calls: false, stop: null }, {})).toBe(true);
    expect(supports({ parallel_tool_calls: false }, {}, { dropFields: ['parallel_tool_calls'] })).toBe(false);
  });
});
