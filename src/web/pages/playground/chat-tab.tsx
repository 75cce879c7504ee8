import { useState } from 'react';
import { useOrganization } from '../../app/use-session';
import type { Model } from '../../../contract/dashboard';
import { Banner } from '../../ui/banner';
import { Button, ButtonLink } from '../../ui/button';
import { Card } from '../../ui/card';
import { Empty } from '../../ui/empty';
import { RotateCcw, SquarePen } from '../../ui/icons';
import { handRequest } from '../explain/handed-request';
import { ChatAnswer } from './chat-answer';
import { Attachments, ChatComposer } from './chat-composer';
import { chatBody, NO_SETTINGS, schemaProblem, type UserMessage } from './chat-request';
import { ChatModels } from './chat-models';
import { ChatSettingsPanel } from './chat-settings-panel';
import { CodeButton } from './code-button';
import { EstimateLine } from './estimate-line';
import { SpokenAnswer } from './spoken-answer';
import { modelOf, type TabProps } from './tab';
import { exchangeOf, useChat, type Chat, type Turn } from './use-chat';
import { useDraft } from './use-draft';

const NO_MESSAGE: UserMessage = { text: '', attachments: [] };
/** A growing answer must not move "Stop" away from the pointer. In a window too low for both, the composer scrolls. */
const AT_THE_BOTTOM = 'mt-auto bg-canvas [@media(min-height:20rem)]:sticky [@media(min-height:20rem)]:bottom-0';
const COLUMNS = ['', '', 'md:grid-cols-2', 'md:grid-cols-2 2xl:grid-cols-3'];

/** Chats with up to three models side by side. */
export function ChatTab(props: TabProps) {
  const { id } = useOrganization();
  const [modelIds, setModelIds] = useDraft<readonly string[]>(`${id} chat models`, ['']);
  const [settings, setSettings] = useDraft(`${id} chat settings`, NO_SETTINGS);
  const [message, setMessage] = useDraft(`${id} chat message`, NO_MESSAGE);
  /** The turn that the message replaces, with all after it. */
  const [editedTurn, setEditedTurn] = useState<number | null>(null);
  const chat = useChat();
  const models = modelIds.map((modelId) => modelOf(props, modelId));
  const asked = [...new Map(models.map((model) => [model.id, model])).values()];
  const [first = props.models[0]] = asked;
  const bodyOf = (model: Model): object =>
    chatBody(model, settings, [
      ...chat.turns.map((turn) => exchangeOf(turn, model.id)),
      { user: message, answer: null },
    ]);
  const problem = schemaProblem(settings);
  const send = (user: UserMessage, from?: number): void => chat.send(user, asked, settings, from);
  const edit = (index: number | null, user: UserMessage): void => {
    setEditedTurn(index);
    setMessage(user);
  };
  return (
    <div className="grid items-start gap-5 lg:grid-cols-[minmax(0,1fr)_18rem]">
      <div className={`flex min-w-0 flex-col gap-4 ${chat.turns.length === 0 ? '' : 'min-h-[calc(100dvh-12rem)]'}`}>
        {chat.turns.length === 0 ? (
          <Empty title="Ask something">
            Choose a model and send a message. Add models to compare their answers and costs.
          </Empty>
        ) : (
          <Conversation
            turns={chat.turns}
            models={props.models}
            busy={chat.running || problem !== null}
            onRetry={(turn, index) => send(turn.user, index)}
            onEdit={(turn, index) => edit(index, turn.user)}
          />
        )}
        <SpokenAnswer turn={chat.turns.at(-1)} running={chat.running} />
        <div className={`space-y-4 pb-4 ${AT_THE_BOTTOM}`}>
          {editedTurn !== null && (
            <Banner>
              Sending replaces the message and everything after it.{' '}
              <Button small onClick={() => edit(null, NO_MESSAGE)}>
                Keep it
              </Button>
            </Banner>
          )}
          <ChatComposer
            message={message}
            onChange={setMessage}
            running={chat.running}
            problem={problem}
            acceptsImages={asked.every(({ features }) => features.vision === true)}
            onStop={chat.stop}
            onSend={() => {
              edit(null, NO_MESSAGE);
              send(message, editedTurn ?? undefined);
            }}
          />
          {problem === null &&
            message.text.trim() !== '' &&
            asked.map((model) => (
              <EstimateLine
                key={model.id}
                label={asked.length === 1 ? undefined : model.name}
                operation="createChatCompletion"
                request={bodyOf(model)}
                enabled={!chat.running}
              />
            ))}
        </div>
      </div>
      <Card title="Settings">
        <div className="space-y-4">
          <ChatModels models={models} offered={props.models} onChange={setModelIds} />
          <ChatSettingsPanel models={asked} settings={settings} onChange={setSettings} />
          <ChatActions body={problem === null ? () => bodyOf(first) : null} chat={chat} />
        </div>
      </Card>
    </div>
  );
}

interface ChatActionsProps {
  /** The next request to the first model; null while it cannot be sent. */
  readonly body: (() => object) | null;
  readonly chat: Chat;
}

function ChatActions({ body, chat }: ChatActionsProps) {
  const { id } = useOrganization();
  return (
    <div className="flex flex-wrap gap-2 border-t pt-4">
      <CodeButton
        disabled={body === null}
        build={() => ({ path: '/v1/chat/completions', sdk: 'chat.completions.create', body: body?.() ?? {} })}
      />
      <ButtonLink
        to="/o/$org/explain"
        params={{ org: id }}
        search={{ operation: 'createChatCompletion' }}
        onClick={() => {
          if (body !== null) handRequest(body());
        }}
      >
        Explain
      </ButtonLink>
      <Button onClick={chat.clear} disabled={chat.running || chat.turns.length === 0}>
        New chat
      </Button>
    </div>
  );
}

interface ConversationProps {
  readonly turns: readonly Turn[];
  readonly models: readonly Model[];
  /** Whether nothing can be sent now. */
  readonly busy: boolean;
  readonly onRetry: (turn: Turn, index: number) => void;
  readonly onEdit: (turn: Turn, index: number) => void;
}

function Conversation({ turns, models, busy, onRetry, onEdit }: ConversationProps) {
  return (
    // The margins keep a focused element clear of the header and the composer.
    <ol className="space-y-6 **:scroll-mt-16 **:scroll-mb-56">
      {turns.map((turn, index) => (
        <li key={turn.id}>
          <TurnView
            turn={turn}
            models={models}
            busy={busy}
            isLast={index === turns.length - 1}
            onRetry={() => onRetry(turn, index)}
            onEdit={() => onEdit(turn, index)}
          />
        </li>
      ))}
    </ol>
  );
}

interface TurnViewProps {
  readonly turn: Turn;
  readonly models: readonly Model[];
  /** Whether nothing can be sent now. */
  readonly busy: boolean;
  /** Asking an earlier turn again would drop those after it. */
  readonly isLast: boolean;
  readonly onRetry: () => void;
  readonly onEdit: () => void;
}

function TurnView({ turn: { user, replies }, models, busy, isLast, onRetry, onEdit }: TurnViewProps) {
  const answers = Object.entries(replies);
  return (
    <>
      <div className="mb-3 ms-auto w-fit max-w-[85%] rounded-xl bg-accent-soft px-4 py-2.5">
        <Attachments attachments={user.attachments} />
        <p className="wrap-anywhere whitespace-pre-wrap" dir="auto">
          {user.text}
        </p>
        {!busy && (
          <div className="mt-1 flex justify-end gap-1">
            <Button variant="quiet" small onClick={onEdit}>
              <SquarePen size={14} aria-hidden="true" />
              Edit
            </Button>
            {isLast && (
              <Button variant="quiet" small onClick={onRetry}>
                <RotateCcw size={14} aria-hidden="true" />
                Ask again
              </Button>
            )}
          </div>
        )}
      </div>
      <div className={`grid gap-3 ${COLUMNS[answers.length] ?? ''}`}>
        {answers.map(([modelId, reply]) => (
          <ChatAnswer key={modelId} modelId={modelId} model={models.find(({ id }) => id === modelId)} reply={reply} />
        ))}
      </div>
    </>
  );
}
