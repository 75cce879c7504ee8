import type { Model } from '../../../contract/dashboard';

export interface ChatSettings {
  readonly system: string;
  /** Text of the fields; empty: not sent. */
  readonly temperature: string;
  readonly maxTokens: string;
  readonly reasoningEffort: string;
  readonly format: 'text' | 'json_object' | 'json_schema';
  /** JSON text of the schema. */
  readonly schema: string;
}

export const NO_SETTINGS: ChatSettings = {
  system: '',
  temperature: '',
  maxTokens: '',
  reasoningEffort: '',
  format: 'text',
  schema: '',
};

export interface Attachment {
  readonly name: string;
  /** An image as a `data:` URL, or the text of a file. */
  readonly kind: 'image' | 'text';
  readonly content: string;
}

export interface UserMessage {
  readonly text: string;
  readonly attachments: readonly Attachment[];
}

/** A message and the answer of one model to it; `null`: it gave none. */
export interface Exchange {
  readonly user: UserMessage;
  readonly answer: string | null;
}

/** The body of `POST /v1/chat/completions`. Options that the model does not have are left out. */
export function chatBody(model: Model, settings: ChatSettings, history: readonly Exchange[]): object {
  const { features } = model;
  const { system, temperature, maxTokens, reasoningEffort } = settings;
  return {
    model: model.id,
    messages: [
      ...(system.trim() === '' ? [] : [{ role: 'system', content: system }]),
      ...history.flatMap(({ user, answer }) => [
        { role: 'user', content: contentOf(user) },
        ...(answer === null ? [] : [{ role: 'assistant', content: answer }]),
      ]),
    ],
    stream: true,
    stream_options: { include_usage: true },
    ...(temperature !== '' && features.sampling !== false && { temperature: Number(temperature) }),
    ...(maxTokens !== '' && { max_tokens: Number(maxTokens) }),
    ...(reasoningEffort !== '' &&
      features.reasoning?.includes(reasoningEffort) === true && { reasoning_effort: reasoningEffort }),
    ...responseFormat(model, settings),
  };
}

function responseFormat({ features }: Model, { format, schema }: ChatSettings): object {
  if (format === 'json_object' && features.json_object === true) return { response_format: { type: 'json_object' } };
  if (format === 'json_schema' && features.json_schema === true) {
    return { response_format: { type: 'json_schema', json_schema: { name: 'answer', schema: parseSchema(schema) } } };
  }
  return {};
}

/** @throws SyntaxError */
function parseSchema(text: string): unknown {
  return JSON.parse(text.trim() === '' ? '{"type": "object"}' : text);
}

/** Why the schema cannot be sent; null if it can. */
export function schemaProblem({ format, schema }: ChatSettings): string | null {
  if (format !== 'json_schema') return null;
  try {
    parseSchema(schema);
    return null;
  } catch (error) {
    return `The JSON schema is not JSON: ${error instanceof Error ? error.message : String(error)}`;
  }
}

function contentOf({ text, attachments }: UserMessage): string | object[] {
  const files = attachments.filter(({ kind }) => kind === 'text');
  const images = attachments.filter(({ kind }) => kind === 'image');
  const written = [...files.map(({ name, content }) => `${name}:\n\`\`\`\n${content}\n\`\`\``), text].join('\n\n');
  if (images.length === 0) return written;
  return [
    { type: 'text', text: written },
    ...images.map(({ content }) => ({ type: 'image_url', image_url: { url: content } })),
  ];
}
