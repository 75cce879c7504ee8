import type { ServerResponse } from 'node:http';

/**
 * Disconnects a client that reads nothing of a complete response for `stallMs`, which would keep the response in memory.
 * Node restarts the timeout with every byte that is read and restores the keep-alive timeout after the response.
 */
export function limitStall(response: ServerResponse, stallMs: number): void {
  // Nearly every response fits the kernel buffer and is out of process memory: it needs no timer.
  if (response.writableEnded && response.writableLength === 0) return;
  response.socket?.setTimeout(stallMs);
}
