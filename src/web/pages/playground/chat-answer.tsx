import type { Model } from '../../../contract/dashboard';
import { countOf, formatDuration } from '../../format/count';
import { Badge } from '../../ui/badge';
import { CopyButton } from '../../ui/copy-button';
import { Markdown } from '../../ui/markdown';
import { Skeleton } from '../../ui/skeleton';
import { tokensPerSecond, type ChatReply } from './chat-reply';
import { errorOf, RequestFailure } from './failure';
import { ReceiptLine } from './receipt-line';

interface ChatAnswerProps {
  readonly model: Model | undefined;
  readonly modelId: string;
  readonly reply: ChatReply;
}

/** The answer of one model with what it took. */
export function ChatAnswer({ model, modelId, reply }: ChatAnswerProps) {
  const { state, text, reasoning, failure } = reply;
  const isFallback = reply.model !== null && reply.model !== modelId;
  return (
    <article aria-label={`Answer of ${model?.name ?? modelId}`} className="min-w-0 rounded-xl border bg-surface p-4">
      <div className="mb-2 flex flex-wrap items-center justify-between gap-2">
        <h3 className="font-medium">{model?.name ?? modelId}</h3>
        <div className="flex items-center gap-1">
          {isFallback && <Badge tone="warn">Fallback: {reply.model}</Badge>}
          {state === 'stopped' && <Badge>stopped</Badge>}
          {text !== '' && <CopyButton text={text} object="answer" />}
        </div>
      </div>
      {reasoning !== '' && (
        <details className="mb-2">
          <summary className="text-muted">Reasoning</summary>
          <p className="mt-1 border-s-2 ps-3 wrap-anywhere whitespace-pre-wrap text-muted">{reasoning}</p>
        </details>
      )}
      {state === 'waiting' && <Skeleton className="h-4 w-2/3" />}
      {text !== '' && <Markdown text={text} />}
      {failure !== null && <RequestFailure error={errorOf(failure)} />}
      {reply.totalMs !== null && (
        <ReceiptLine
          costMicro={reply.costMicro}
          requestId={failure === null ? reply.requestId : null}
          totalMs={reply.totalMs}
          facts={factsOf(reply)}
          fallbackCalls={reply.fallbackCalls}
        />
      )}
    </article>
  );
}

function factsOf(reply: ChatReply): readonly string[] {
  const { promptTokens, completionTokens, firstTokenMs } = reply;
  const speed = tokensPerSecond(reply);
  return [
    ...(promptTokens === null ? [] : [`${countOf(promptTokens, 'token')} in`]),
    ...(completionTokens === null ? [] : [`${countOf(completionTokens, 'token')} out`]),
    ...(firstTokenMs === null ? [] : [`first token after ${formatDuration(firstTokenMs)}`]),
    ...(speed === null ? [] : [`${speed} tokens/s`]),
  ];
}
