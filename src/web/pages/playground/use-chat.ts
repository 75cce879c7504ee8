import { useCallback, useEffect, useRef, useState } from 'react';
import type { Model } from '../../../contract/dashboard';
import { useOrganization } from '../../app/use-session';
import { followChat, settled, type ChatReply } from './chat-reply';
import { chatBody, type ChatSettings, type Exchange, type UserMessage } from './chat-request';
import { useSpending } from './playground-context';
import { useDraft } from './use-draft';

/** A message of the user and the answers of the models that were asked. */
export interface Turn {
  readonly id: string;
  readonly user: UserMessage;
  /** By model id. */
  readonly replies: Readonly<Record<string, ChatReply>>;
}

export interface Chat {
  readonly turns: readonly Turn[];
  readonly running: boolean;
  /** Asks the models, and keeps the turns before `from`, else all. */
  readonly send: (user: UserMessage, models: readonly Model[], settings: ChatSettings, from?: number) => void;
  readonly stop: () => void;
  readonly clear: () => void;
}

/** Runs the conversations: each model sees its own answers only. */
export function useChat(): Chat {
  const { id: organizationId } = useOrganization();
  const { addSpent } = useSpending();
  const [turns, setTurns] = useDraft<readonly Turn[]>(`${organizationId} turns`, []);
  const [live, setLive] = useState<Turn | null>(null);
  const controller = useRef<AbortController | null>(null);
  useEffect(() => () => controller.current?.abort(), []);

  const send: Chat['send'] = useCallback(
    (user, models, settings, from = turns.length) => {
      const before = turns.slice(0, from);
      const requests = models.map((model) => {
        const past = before.map((each) => exchangeOf(each, model.id));
        return [model.id, chatBody(model, settings, [...past, { user, answer: null }])] as const;
      });
      const abort = new AbortController();
      controller.current = abort;
      let turn: Turn = { id: String(performance.now()), user, replies: {} };
      let frame = 0;
      const show = (modelId: string, reply: ChatReply): void => {
        turn = { ...turn, replies: { ...turn.replies, [modelId]: reply } };
        // The text is laid out once per frame, however many chunks arrive.
        if (frame === 0) {
          frame = requestAnimationFrame(() => {
            frame = 0;
            setLive(turn);
          });
        }
      };
      // The message outlives a reload during the answer.
      setTurns([...before, turn]);
      setLive(turn);
      const asked = requests.map(async ([modelId, body]) => {
        const reply = await followChat(organizationId, body, abort.signal, (next) => show(modelId, next));
        const final = await settled(organizationId, reply);
        addSpent(final.costMicro ?? 0);
        return [modelId, final] as const;
      });
      void Promise.all(asked).then((replies) => {
        cancelAnimationFrame(frame);
        setTurns([...before, { ...turn, replies: Object.fromEntries(replies) }]);
        setLive(null);
        controller.current = null;
      });
    },
    [turns, setTurns, organizationId, addSpent],
  );
  return {
    turns: live === null ? turns : [...turns.slice(0, -1), live],
    running: live !== null,
    send,
    stop: () => controller.current?.abort(),
    clear: () => setTurns([]),
  };
}

/** A turn as the model saw it. */
export function exchangeOf({ user, replies }: Turn, modelId: string): Exchange {
  const text = replies[modelId]?.text ?? '';
  return { user, answer: text === '' ? null : text };
}
