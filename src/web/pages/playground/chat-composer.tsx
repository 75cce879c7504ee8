import { useEffect, useId, useRef, useState } from 'react';
import { Banner } from '../../ui/banner';
import { Button } from '../../ui/button';
import { Paperclip, X } from '../../ui/icons';
import { blobOf, readAttachment } from './attachments';
import type { Attachment, UserMessage } from './chat-request';

interface ChatComposerProps {
  readonly message: UserMessage;
  readonly onChange: (change: (message: UserMessage) => UserMessage) => void;
  readonly onSend: () => void;
  readonly onStop: () => void;
  readonly running: boolean;
  /** Why nothing can be sent now. */
  readonly problem: string | null;
  readonly acceptsImages: boolean;
}

/** Writes a message. Enter sends it, Shift and Enter begins a line; files can be dropped. */
export function ChatComposer(props: ChatComposerProps) {
  const { message, onChange, onSend, onStop, running, problem, acceptsImages } = props;
  const [refused, setRefused] = useState<string | null>(null);
  /** Sending would leave out the files that are still being read. */
  const [filesBeingRead, setFilesBeingRead] = useState(0);
  const picker = useRef<HTMLInputElement>(null);
  const id = useId();
  const attach = async (files: readonly File[]): Promise<void> => {
    const added: Attachment[] = [];
    setRefused(null);
    setFilesBeingRead((count) => count + files.length);
    for (const file of files) {
      try {
        added.push(await readAttachment(file, acceptsImages));
      } catch (error) {
        setRefused(error instanceof Error ? error.message : String(error));
      }
    }
    onChange((current) => ({ ...current, attachments: [...current.attachments, ...added] }));
    setFilesBeingRead((count) => count - files.length);
  };
  const isEmpty = message.text.trim() === '' && message.attachments.length === 0;
  const canSend = !running && problem === null && filesBeingRead === 0 && !isEmpty;
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions -- the button below attaches files as well
    <form
      className="rounded-xl border bg-surface p-3"
      onDrop={(event) => {
        event.preventDefault();
        void attach([...event.dataTransfer.files]);
      }}
      onDragOver={(event) => event.preventDefault()}
      onSubmit={(event) => {
        event.preventDefault();
        if (canSend) onSend();
      }}
    >
      {(refused ?? problem) !== null && <Banner tone="warn">{refused ?? problem}</Banner>}
      <Attachments
        attachments={message.attachments}
        onRemove={(index) =>
          onChange((current) => ({ ...current, attachments: current.attachments.toSpliced(index, 1) }))
        }
      />
      <label htmlFor={id} className="sr-only">
        Message
      </label>
      <textarea
        id={id}
        rows={3}
        className="control resize-y"
        placeholder="Message"
        value={message.text}
        onChange={(event) => {
          const text = event.currentTarget.value;
          onChange((current) => ({ ...current, text }));
        }}
        onKeyDown={(event) => {
          if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
          event.preventDefault();
          if (canSend) onSend();
        }}
      />
      <div className="mt-2 flex items-center justify-between gap-2">
        <input
          ref={picker}
          type="file"
          multiple
          hidden
          aria-label="Files"
          onChange={(event) => {
            void attach([...(event.currentTarget.files ?? [])]);
            event.currentTarget.value = '';
          }}
        />
        <Button variant="quiet" onClick={() => picker.current?.click()}>
          <Paperclip size={16} aria-hidden="true" />
          Attach
        </Button>
        <SendOrStop running={running} canSend={canSend} onStop={onStop} />
      </div>
    </form>
  );
}

interface SendOrStopProps {
  readonly running: boolean;
  readonly canSend: boolean;
  readonly onStop: () => void;
}

/**
 * One button with two labels. It is never disabled natively, which would lose the focus at the end of an answer. With
 * `pending`, the second click of a double click meets the other label without effect.
 */
function SendOrStop({ running, canSend, onStop }: SendOrStopProps) {
  return running ? (
    <Button pending={false} onClick={onStop}>
      Stop
    </Button>
  ) : (
    <Button type="submit" variant="primary" pending={false} aria-disabled={!canSend || undefined}>
      Send
    </Button>
  );
}

interface AttachmentsProps {
  readonly attachments: readonly Attachment[];
  readonly onRemove?: (index: number) => void;
}

/** The page's policy allows no `data:` URLs. */
function Thumbnail({ dataUrl }: { readonly dataUrl: string }) {
  const image = useRef<HTMLImageElement>(null);
  useEffect(() => {
    const url = URL.createObjectURL(blobOf(dataUrl));
    if (image.current !== null) image.current.src = url;
    return () => URL.revokeObjectURL(url);
  }, [dataUrl]);
  return <img ref={image} alt="" className="size-10 rounded object-cover" />;
}

export function Attachments({ attachments, onRemove }: AttachmentsProps) {
  if (attachments.length === 0) return null;
  return (
    <ul className="mb-2 flex flex-wrap gap-2">
      {attachments.map(({ name, kind, content }, index) => (
        <li key={index} className="flex items-center gap-2 rounded-lg border bg-sunken p-1.5">
          {kind === 'image' && <Thumbnail dataUrl={content} />}
          <span className="max-w-48 truncate" title={name}>
            {name}
          </span>
          {onRemove !== undefined && (
            <Button variant="quiet" small onClick={() => onRemove(index)}>
              <X size={14} aria-hidden="true" />
              <span className="sr-only">Remove {name}</span>
            </Button>
          )}
        </li>
      ))}
    </ul>
  );
}
