import type { ChatMessage } from '../../contract/chat';
import type { ModelFeatures } from '../../contract/provider-call';
import { isJsonObject } from '../../kit/json';
import { unsupported } from '../../kit/unsupported';
import { parseExactly } from './exact-json';
import type { AssistantBlock, TextBlock, ToolUseBlock, UpstreamMessage, UserBlock } from './messages-format';
import { cacheControlOf, toTextBlocks, toUserBlocks } from './to-content';
import { ToolIds } from './tool-ids';

/** The conversation in the upstream's format. */
export interface Conversation {
  readonly system: TextBlock[];
  readonly messages: UpstreamMessage[];
  /** The answers that called tools, in order. */
  readonly toolSteps: ToolStep[];
}

/** Text that says nothing, but is neither empty nor white space, since the upstream refuses both. */
const NO_QUESTION: TextBlock = { type: 'text', text: '.' };

export interface ToolStep {
  /** Index in `messages`. */
  readonly index: number;
  /** The client's id of the answer's first call. */
  readonly firstCallId: string;
}

/** @throws ProviderError `validation_failed` with the path of the message that the upstream cannot take */
export function toConversation(messages: readonly ChatMessage[], features: ModelFeatures): Conversation {
  const writer = new ConversationWriter(messages, features);
  messages.forEach((_message, at) => writer.add(at));
  return writer.end();
}

/**
 * The calls of the latest answer. Their results must follow at once, all in one message and before its other content.
 */
interface OpenCalls {
  readonly index: number;
  /** Paths of the calls in the request, by the client's id. */
  readonly waiting: Map<string, string>;
  results: number;
}

class ConversationWriter implements Conversation {
  readonly system: TextBlock[] = [];
  readonly messages: UpstreamMessage[] = [];
  readonly toolSteps: ToolStep[] = [];
  private readonly ids = new ToolIds();
  private openCalls: OpenCalls | null = null;

  constructor(
    private readonly source: readonly ChatMessage[],
    private readonly features: ModelFeatures,
  ) {}

  add(at: number): void {
    const message = this.source[at] as ChatMessage;
    const path = `messages[${at}]`;
    switch (message.role) {
      case 'system':
      case 'developer':
        this.addInstructions(toTextBlocks(message.content, `${path}.content`), at);
        return;
      case 'tool':
        this.addResult(message, path);
        return;
      case 'user':
        this.checkResults();
        this.addToUserTurn(
          withCacheControl(toUserBlocks(message.content, `${path}.content`, this.features.vision), message),
        );
        return;
      case 'assistant':
        this.checkResults();
        this.addAnswer(message, path);
        return;
      default:
        throw unsupported(path, `This model does not take messages of the role ${message.role}.`);
    }
  }

  end(): Conversation {
    this.checkResults();
    const last = this.messages.at(-1);
    if (last === undefined) this.moveInstructionsToUser();
    else if (last.role === 'assistant') this.endWithAnswer(last.content);
    if (this.messages[0]?.role === 'assistant') this.startWithUser();
    return this;
  }

  /** Without a user message, the instructions become the request. */
  private moveInstructionsToUser(): void {
    if (this.system.length === 0)
      throw unsupported('messages', 'This model needs at least one message that is not empty.');
    this.messages.push({ role: 'user', content: this.system.splice(0) });
  }

  /**
   * The first message must be the user's, but a client may start with a greeting of the assistant:
   * https://github.com/lobehub/lobehub/issues/1601
   */
  private startWithUser(): void {
    this.messages.unshift({ role: 'user', content: [NO_QUESTION] });
    for (const [at, step] of this.toolSteps.entries()) this.toolSteps[at] = { ...step, index: step.index + 1 };
  }

  /** The model is to continue a final answer. The upstream refuses white space at the end of one. */
  private endWithAnswer(content: AssistantBlock[]): void {
    if (this.features.prefill === false) {
      throw unsupported(
        `messages[${this.source.length - 1}]`,
        'With this model, the last message cannot be an assistant message.',
      );
    }
    const block = content.at(-1);
    if (block?.type === 'text') block.text = block.text.trimEnd();
  }

  /**
   * Leading instructions become the system prompt. Later ones become separate messages if the model accepts them: after
   * a user message, and not before another one. Otherwise they become a marked part of the user's message.
   * https://platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages
   */
  private addInstructions(blocks: TextBlock[], at: number): void {
    if (blocks.length === 0) return;
    const last = this.messages.at(-1);
    if (last === undefined) {
      this.system.push(...blocks);
    } else if (last.role === 'system') {
      last.content.push(...blocks);
    } else if (this.features.system_mid === true && last.role === 'user' && this.isAnswered(at)) {
      this.messages.push({ role: 'system', content: blocks });
    } else {
      this.addToUserTurn(blocks.map((block) => ({ ...block, text: `<system>${block.text}</system>` })));
    }
  }

  /** Whether all calls have results, and the next message other than instructions is an answer or does not exist. */
  private isAnswered(at: number): boolean {
    if (this.openCalls !== null && this.openCalls.waiting.size > 0) return false;
    const next = this.source.slice(at + 1).find(({ role }) => role !== 'system' && role !== 'developer');
    return next === undefined || next.role === 'assistant';
  }

  private addToUserTurn(blocks: UserBlock[]): void {
    if (blocks.length === 0) return;
    const last = this.messages.at(-1);
    if (last?.role === 'user') last.content.push(...blocks);
    else this.messages.push({ role: 'user', content: blocks });
  }

  private addAnswer(message: ChatMessage, path: string): void {
    const { content, refusal, function_call: called, audio, tool_calls: calls } = message;
    if (called != null) throw unsupported(`${path}.function_call`);
    if (audio != null) throw unsupported(`${path}.audio`);
    const text = [...toTextBlocks(content, `${path}.content`), ...toTextBlocks(refusal, `${path}.refusal`)];
    const toolUse = Array.isArray(calls) ? this.openToolCalls(calls, `${path}.tool_calls`) : [];
    const blocks = withCacheControl([...text, ...toolUse], message);
    if (blocks.length > 0) this.messages.push({ role: 'assistant', content: blocks });
  }

  private openToolCalls(calls: readonly unknown[], path: string): ToolUseBlock[] {
    const waiting = new Map<string, string>();
    const index = this.messages.length;
    const blocks = calls.map((call, at) => {
      const callPath = `${path}[${at}]`;
      const { id, called } = readCall(call, callPath);
      if (waiting.has(id)) throw unsupported(`${callPath}.id`, 'Two tool calls of one message have the same id.');
      waiting.set(id, callPath);
      if (at === 0) this.toolSteps.push({ index, firstCallId: id });
      return { type: 'tool_use' as const, id: this.ids.assignId(id), ...called };
    });
    if (blocks.length > 0) this.openCalls = { index, waiting, results: 0 };
    return blocks;
  }

  private addResult(message: ChatMessage, path: string): void {
    const { tool_call_id: clientId, content } = message;
    const id = typeof clientId === 'string' ? this.ids.find(clientId) : undefined;
    const { openCalls } = this;
    if (id === undefined || openCalls === null || !openCalls.waiting.delete(clientId as string)) {
      throw unsupported(
        `${path}.tool_call_id`,
        'A tool message must follow the assistant message that contains its tool call.',
      );
    }
    const text = toTextBlocks(content, `${path}.content`);
    const control = text.map(cacheControlOfBlock).findLast((each) => each.cache_control !== undefined);
    const result: UserBlock = {
      type: 'tool_result',
      tool_use_id: id,
      ...(text.length > 0 && { content: toResultContent(text) }),
      ...control,
      ...cacheControlOf(message),
    };
    const turn = this.messages[openCalls.index + 1];
    if (turn?.role === 'user') turn.content.splice(openCalls.results, 0, result);
    else this.messages.push({ role: 'user', content: [result] });
    openCalls.results++;
  }

  private checkResults(): void {
    const missing = this.openCalls?.waiting.values().next().value;
    if (missing !== undefined) {
      throw unsupported(
        missing,
        'Every tool call needs a tool message with its result directly after the assistant message.',
      );
    }
    this.openCalls = null;
  }
}

function readCall(call: unknown, path: string): { id: string; called: { name: string; input: object } } {
  const { id, type, function: called } = isJsonObject(call) ? call : {};
  if (type === 'custom' || !isJsonObject(called)) throw unsupported(path, 'This model supports function calls only.');
  const { name, arguments: given } = called;
  return {
    id: typeof id === 'string' ? id : '',
    called: {
      name: typeof name === 'string' ? name : '',
      input: parseArguments(typeof given === 'string' ? given : '', `${path}.function.arguments`),
    },
  };
}

function parseArguments(text: string, path: string): object {
  if (text.trim() === '') return {};
  try {
    const input = parseExactly(text);
    if (isJsonObject(input)) return input;
  } catch {
    // Invalid JSON is handled like JSON of the wrong type.
  }
  throw unsupported(path, 'The arguments of a call must be a JSON object.');
}

function toResultContent(blocks: readonly TextBlock[]): string | TextBlock[] {
  const [first] = blocks;
  if (blocks.length === 1 && first !== undefined) return first.text;
  return blocks.map(({ text }) => ({ type: 'text', text }));
}

function cacheControlOfBlock({ cache_control }: TextBlock): Pick<TextBlock, 'cache_control'> {
  return cache_control === undefined ? {} : { cache_control };
}

/** A cache marker on a whole message applies to its last block. */
function withCacheControl<Block extends object>(blocks: Block[], message: ChatMessage): Block[] {
  const control = cacheControlOf(message);
  const last = blocks.at(-1);
  return last === undefined || control.cache_control === undefined
    ? blocks
    : [...blocks.slice(0, -1), { ...last, ...control }];
}
