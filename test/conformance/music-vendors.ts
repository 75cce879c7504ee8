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
