import { ApiError } from './errors';

export interface SampleRequest {
  readonly model: string;
  readonly max_tokens: number;
  readonly messages: ReadonlyArray<{ readonly role: 'user'; readonly content: string }>;
}

interface ChatReply {
  readonly choices?: ReadonlyArray<{ readonly message?: { readonly content?: string | null } }>;
}

/**
 * Sends one chat request with an API key and returns the text of its reply.
 * @throws ApiError
 */
export async function sendSampleRequest(key: string, body: SampleRequest): Promise<string> {
  const response = await fetch(`${window.location.origin}/v1/chat/completions`, {
    method: 'POST',
    credentials: 'omit',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  }).catch(() => {
    throw ApiError.unreachable();
  });
  const reply: unknown = await response.json().catch(() => undefined);
  if (!response.ok) throw ApiError.of(response, reply);
  return (reply as ChatReply).choices?.[0]?.message?.content ?? '';
}
