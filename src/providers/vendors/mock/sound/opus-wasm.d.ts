/**
 * The part of the Opus package that is WebAssembly, the same on every machine: its main entry prefers native binaries,
 * which exist for few platforms and fail when loaded twice in a process.
 */
declare module '@evan/opus/wasm/index.mjs' {
  export class Encoder {
    constructor(options: {
      readonly channels: 1 | 2;
      readonly sample_rate: 8000 | 12000 | 16000 | 24000 | 48000;
      readonly application: 'voip' | 'audio';
    });
    /** Sends a libopus CTL request. */
    ctl(request: number): number;
    /** One packet of 16-bit frames. */
    encode(frames: Int16Array): Uint8Array<ArrayBuffer>;
    /** Frees its memory. */
    drop(): void;
  }
}
