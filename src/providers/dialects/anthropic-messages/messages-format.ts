/** The parts of the wire format of `POST /v1/messages` that the gateway writes. */
export interface CacheControl {
  readonly type: 'ephemeral';
  readonly ttl?: '5m' | '1h';
}

interface Cacheable {
  cache_control?: CacheControl;
}

export interface TextBlock extends Cacheable {
  type: 'text';
  text: string;
}

export interface ImageBlock extends Cacheable {
  type: 'image';
  source: { type: 'url'; url: string } | { type: 'base64'; media_type: ImageType; data: string };
}

export type ImageType = 'image/jpeg' | 'image/png' | 'image/gif' | 'image/webp';

export interface DocumentBlock extends Cacheable {
  type: 'document';
  source:
    | { type: 'base64'; media_type: 'application/pdf'; data: string }
    | { type: 'text'; media_type: 'text/plain'; data: string };
  title?: string;
  citations?: { enabled: true };
}

export interface ToolUseBlock extends Cacheable {
  type: 'tool_use';
  id: string;
  name: string;
  input: unknown;
}

export interface ToolResultBlock extends Cacheable {
  type: 'tool_result';
  tool_use_id: string;
  content?: string | TextBlock[];
}

/** Opaque: returned to the upstream exactly as received. */
export type ThinkingBlock =
  | { readonly type: 'thinking'; readonly thinking: string; readonly signature: string }
  | { readonly type: 'redacted_thinking'; readonly data: string };

export type UserBlock = TextBlock | ImageBlock | DocumentBlock | ToolResultBlock;
export type AssistantBlock = TextBlock | ToolUseBlock | ThinkingBlock;

export type UpstreamMessage =
  | { role: 'user'; content: UserBlock[] }
  | { role: 'assistant'; content: AssistantBlock[] }
  | { role: 'system'; content: TextBlock[] };

export interface UpstreamTool extends Cacheable {
  name: string;
  description?: string;
  input_schema: { type: 'object'; [keyword: string]: unknown };
  strict?: boolean;
}

export type UpstreamToolChoice =
  | { type: 'auto' | 'any'; disable_parallel_tool_use?: boolean }
  | { type: 'tool'; name: string; disable_parallel_tool_use?: boolean }
  | { type: 'none' };

export type Effort = 'low' | 'medium' | 'high' | 'xhigh' | 'max';

export type Thinking =
  | { type: 'adaptive'; display: 'summarized' }
  | { type: 'enabled'; budget_tokens: number }
  | { type: 'between_tools' }
  | { type: 'disabled' };

export interface MessagesRequest {
  model: string;
  max_tokens: number;
  system?: TextBlock[];
  messages: UpstreamMessage[];
  tools?: UpstreamTool[];
  tool_choice?: UpstreamToolChoice;
  thinking?: Thinking;
  output_config?: { effort?: Effort; format?: { type: 'json_schema'; schema: Record<string, unknown> } };
  stop_sequences?: string[];
  temperature?: number;
  top_p?: number;
  top_k?: number;
  metadata?: { user_id: string };
  service_tier?: 'standard_only';
  cache_control?: CacheControl;
}
