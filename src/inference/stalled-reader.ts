import type { ServerResponse } from 'node:http';

/**
 * For a whole answer that has just been handed to the server. A client that takes nothing of it for so long is gone,
 * whatever its connection says, and would keep it in memory. Node starts to count anew with every byte that is taken, and
 * sets the limit of idle connections when the answer is through.
 */
export function limitStall(response: ServerResponse, stallMs: number): void {
  // What the kernel has taken whole, as nearly every answer, is not in our memory: it needs no timer.
  if (response.writableEnded && response.writableLength === 0) return;
  response.socket?.setTimeout(stallMs);
}
