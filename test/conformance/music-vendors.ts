/** Vendors whose reply is the piece of music, as their documentation shows them. */
import { playMusic } from './job-upstream';

/** https://elevenlabs.io/docs/api-reference/music/compose */
export const ELEVENLABS_MUSIC = playMusic((response, file) => {
  response.setHeader('content-type', 'audio/mpeg').setHeader('character-cost', '375').end(file);
});

/** https://platform.stability.ai/docs/api-reference#tag/Stable-Audio-2 */
export const STABILITY_MUSIC = playMusic((response, file) => {
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify({ audio: file.toString('base64'), finish_reason: 'SUCCESS', seed: 343_940_597 }));
});

/** https://ai.google.dev/gemini-api/docs/music-generation */
export const LYRIA_MUSIC = playMusic((response, file) => {
  const text = { type: 'text', text: '[0.0:] Gentle guitar' };
  const audio = { type: 'audio', mime_type: 'audio/mpeg', data: file.toString('base64') };
  const steps = [
    { type: 'user_input', content: [{ type: 'text', text: 'a waltz' }] },
    { type: 'model_output', content: [text, audio] },
  ];
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify({ id: 'v1_abc', object: 'interaction', status: 'completed', steps }));
});

/** https://platform.minimax.io/docs/api-reference/music-generation */
export const MINIMAX_MUSIC = playMusic((response, file) => {
  response.setHeader('content-type', 'application/json');
  response.end(
    JSON.stringify({
      data: { audio: file.toString('hex'), status: 2 },
      trace_id: '04ede0ab069fb1ba8be5156a24b1e081',
      extra_info: { music_duration: 25_364, music_sample_rate: 44_100, music_channel: 2, bitrate: 256_000 },
      analysis_info: null,
      base_resp: { status_code: 0, status_msg: 'success' },
    }),
  );
});
