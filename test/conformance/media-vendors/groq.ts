/** Groq: OpenAI's wire format, with speech in WAV only (https://console.groq.com/docs/text-to-speech/orpheus). */
import { json, speech } from '../media-answers';
import { speechRequest } from '../media-requests';
import { type MediaUse, type MediaWire, OPENAI_MEDIA } from '../media-uses';

const WAV = Buffer.from('RIFF\x04\0\0\0WAVE', 'latin1');

const SPEECH: MediaUse = {
  name: 'speech',
  capability: 'speech',
  targets: ['/v1/audio/speech'],
  happy: speech(WAV, 'audio/wav'),
  delivers: { progress: { audioBytes: WAV.length, usage: null } },
  broken: {
    'no sound': speech(''),
    'another format': speech('OggS'),
    'a text': speech('hello', 'text/plain'),
    JSON: json('{}'),
  },
  run: ({ speech: speaking }, call) => speaking?.speak(speechRequest({ format: 'wav' }), call),
};

export const GROQ_MEDIA: MediaWire = {
  ...OPENAI_MEDIA,
  uses: OPENAI_MEDIA.uses.map((use) => (use.name === 'speech' ? SPEECH : use)),
};
