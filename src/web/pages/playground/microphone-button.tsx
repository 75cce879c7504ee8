import { useEffect, useRef, useState } from 'react';
import { Button } from '../../ui/button';
import { Mic, Square } from '../../ui/icons';

/** Records the microphone. Shown only where the browser can; it asks for permission on the first use. */
export function MicrophoneButton({ onRecorded }: { readonly onRecorded: (file: File) => void }) {
  const recorder = useRef<MediaRecorder | null>(null);
  const [recording, setRecording] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  /** `away`: the button is gone, also while the browser asks for permission. */
  const state = useRef<'idle' | 'starting' | 'away'>('idle');
  useEffect(() => {
    state.current = 'idle';
    return () => {
      state.current = 'away';
      release(recorder.current?.stream);
    };
  }, []);
  // Without https, browsers have no `mediaDevices`.
  if (!('mediaDevices' in navigator) || typeof MediaRecorder === 'undefined') return null;

  const start = async (): Promise<void> => {
    if (state.current !== 'idle') return;
    state.current = 'starting';
    setProblem(null);
    try {
      const stream = await navigator.mediaDevices.getUserMedia({ audio: true });
      if (hasLeft(state)) return release(stream);
      const media = new MediaRecorder(stream);
      const parts: Blob[] = [];
      media.addEventListener('dataavailable', ({ data }) => parts.push(data));
      media.addEventListener('stop', () => {
        release(stream);
        setRecording(false);
        const extension = media.mimeType.includes('mp4') ? 'm4a' : 'webm';
        onRecorded(new File(parts, `microphone.${extension}`, { type: media.mimeType }));
      });
      recorder.current = media;
      media.start();
      setRecording(true);
    } catch {
      setProblem('The browser did not allow the microphone.');
    } finally {
      if (!hasLeft(state)) state.current = 'idle';
    }
  };
  return (
    <div>
      <Button onClick={() => (recording ? recorder.current?.stop() : void start())}>
        {recording ? <Square size={16} aria-hidden="true" /> : <Mic size={16} aria-hidden="true" />}
        {recording ? 'Stop recording' : 'Record'}
      </Button>
      {problem !== null && (
        <p role="alert" className="mt-1 text-bad">
          {problem}
        </p>
      )}
    </div>
  );
}

/** Read after a pause, in which the button may have gone. */
function hasLeft(state: { readonly current: string }): boolean {
  return state.current === 'away';
}

function release(stream: MediaStream | undefined): void {
  for (const track of stream?.getTracks() ?? []) track.stop();
}
