/** MiniMax: https://platform.minimax.io/docs/api-reference/speech-t2a-http and `…/errorcode`. */
import { eventStream, json } from '../media-answers';
import { speechRequest } from '../media-requests';
import type { MediaWire } from '../media-uses';

const ACCEPTED = { status_code: 0, status_msg: '' };
const hex = (text: string): string => Buffer.from(text).toString('hex');
const piece = (audio: string, status = 1): object => ({ data: { audio: hex(audio), status }, base_resp: ACCEPTED });
const refusal = (code: number, message: string): object => ({ base_resp: { status_code: code, status_msg: message } });
/** The end repeats the whole audio, unless a host heeds the option to leave it out. */
const END = {
  data: { audio: hex('ID3 sound'), status: 2 },
  extra_info: { audio_format: 'mp3', audio_sample_rate: 24_000, usage_characters: 12 },
  base_resp: ACCEPTED,
};

export const MINIMAX_MEDIA: MediaWire = {
  uses: [
    {
      name: 'speech',
      capability: 'speech',
      targets: ['/v1/t2a_v2'],
      happy: eventStream(piece('ID3 '), piece('sound'), END),
      delivers: { progress: { audioBytes: 9, usage: { units: 12 } } },
      broken: {
        'no sound': eventStream({ ...END, data: { status: 2 } }),
        'another format': eventStream(piece('OggS'), END),
        'audio that is not hexadecimal': eventStream({ data: { audio: 'ID3', status: 1 }, base_resp: ACCEPTED }),
        'no end before the first piece': eventStream({ data: { status: 1 }, base_resp: ACCEPTED }),
        'an event that is not JSON': eventStream('{"data":'),
        JSON: json({}),
      },
      run: ({ speech }, call) => speech?.speak(speechRequest({ voice: 'English_expressive_narrator' }), call),
    },
  ],
  invalid: json(refusal(2013, 'invalid params')),
  moderated: eventStream(refusal(1026, 'input new_sensitive')),
  keyRefused: json(refusal(1004, 'login fail'), 401),
  leaking: (message) => json(refusal(2013, message)),
};
