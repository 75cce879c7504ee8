import type { Provider } from './contract/provider';

/**
 * A provider whose credentials may change while requests hold a reference to it. Every new call goes to the latest
 * instance; a call in flight stays with the instance on which it started.
 */
export class CurrentProvider implements Provider {
  constructor(public current: Provider) {}

  get id(): Provider['id'] {
    return this.current.id;
  }

  get capabilities(): Provider['capabilities'] {
    return this.current.capabilities;
  }

  get quirks(): Provider['quirks'] {
    return this.current.quirks;
  }

  get chat(): Provider['chat'] {
    return this.current.chat;
  }

  get responses(): Provider['responses'] {
    return this.current.responses;
  }

  get completions(): Provider['completions'] {
    return this.current.completions;
  }

  get embeddings(): Provider['embeddings'] {
    return this.current.embeddings;
  }

  get images(): Provider['images'] {
    return this.current.images;
  }

  get speech(): Provider['speech'] {
    return this.current.speech;
  }

  get transcription(): Provider['transcription'] {
    return this.current.transcription;
  }

  get video(): Provider['video'] {
    return this.current.video;
  }

  get music(): Provider['music'] {
    return this.current.music;
  }

  get simulated(): Provider['simulated'] {
    return this.current.simulated;
  }

  close(): Promise<void> {
    return this.current.close();
  }
}
