import { Mic, Square } from 'lucide-react';
import { useEffect, useRef, useState } from 'react';
import { Button } from '../../ui/button';

/** Records the microphone. Shown only where the browser can; it asks for permission on the first use. */
export function MicrophoneButton({ onRecorded }: { readonly onRecorded: (file: File) => void }) {
  const recorder = useRef<MediaRecorder | null>(null);
  const [recording, setRecording] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  useEffect(() => () => release(recorder.current), []);
  // Without https, browsers have no `mediaDevices`.
  if (!('mediaDevices' in navigator) || typeof MediaRecorder === 'undefined') return null;

  const start = async (): Promise<void> => {
    setProblem(null);
    try {
      const stream = await navigator.mediaDevices.getUserMedia({ audio: true });
      const media = new MediaRecorder(stream);
      const parts: Blob[] = [];
      media.addEventListener('dataavailable', ({ data }) => parts.push(data));
      media.addEventListener('stop', () => {
        release(media);
        setRecording(false);
        const extension = media.mimeType.includes('mp4') ? 'm4a' : 'webm';
        onRecorded(new File(parts, `microphone.${extension}`, { type: media.mimeType }));
      });
      recorder.current = media;
      media.start();
      setRecording(true);
    } catch {
      setProblem('The browser did not allow the microphone.');
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

function release(media: MediaRecorder | null): void {
  for (const track of media?.stream.getTracks() ?? []) track.stop();
}
