import { seededNumber } from '../random';

const BEATS_PER_BAR = 4;
const NOTES_PER_BEAT = 2;
/** Semitones above the key note; any two sound well together. */
const PENTATONIC = [0, 3, 5, 7, 10, 12, 15, 17] as const;
/** Root notes of the chords, bar by bar. */
const CHORDS = [0, -4, 3, -2] as const;
const MIDDLE_A_HERTZ = 440;
const TABLE_LENGTH = 1024;
/** A sine and a few softer overtones: something like a plucked string. */
const STRING = Float32Array.from({ length: TABLE_LENGTH }, (_zero, at) => {
  const phase = (2 * Math.PI * at) / TABLE_LENGTH;
  return Math.sin(phase) + 0.4 * Math.sin(2 * phase) + 0.15 * Math.sin(3 * phase) + 0.05 * Math.sin(5 * phase);
});
const LOUDNESS = 5_200;
/** A few milliseconds at any usual rate. */
const STEP_FRAMES = 64;
const FADE_SECONDS = 0.4;

interface Voice {
  phase: number;
  /** Table positions per frame. */
  advance: number;
  /** Seconds since it was plucked. */
  age: number;
  readonly decaySeconds: number;
  readonly loudness: number;
}

/** A small tune over four chords, different for every seed: melody and bass. 16 bits, one channel. */
export class Tune {
  readonly totalFrames: number;

  private readonly framesPerNote: number;
  private readonly keyHertz: number;
  private readonly melody: Voice = { phase: 0, advance: 0, age: 0, decaySeconds: 0.35, loudness: LOUDNESS };
  private readonly bass: Voice = { phase: 0, advance: 0, age: 0, decaySeconds: 0.9, loudness: 0.8 * LOUDNESS };
  private frame = 0;
  private note = -1;

  constructor(
    private readonly seed: number,
    seconds: number,
    private readonly sampleRate: number,
  ) {
    this.totalFrames = Math.round(seconds * sampleRate);
    const beatsPerMinute = 84 + Math.round(seededNumber(seed) * 60);
    this.framesPerNote = Math.round((60 * sampleRate) / (beatsPerMinute * NOTES_PER_BEAT));
    this.keyHertz = MIDDLE_A_HERTZ * 2 ** ((Math.floor(seededNumber(seed + 1) * 12) - 6) / 12);
  }

  /** The next frames, at most `count`; none at the end. */
  read(count: number): Int16Array<ArrayBuffer> {
    const frames = new Int16Array(Math.min(count, this.totalFrames - this.frame));
    for (let at = 0; at < frames.length;) {
      const note = Math.floor(this.frame / this.framesPerNote);
      if (note !== this.note) this.pluck(note);
      const left = Math.min((note + 1) * this.framesPerNote - this.frame, STEP_FRAMES);
      const step = frames.subarray(at, at + left);
      const fade = Math.min(1, (this.totalFrames - this.frame) / (FADE_SECONDS * this.sampleRate));
      this.sound(this.melody, step, fade);
      this.sound(this.bass, step, fade);
      this.frame += step.length;
      at += step.length;
    }
    return frames;
  }

  private pluck(note: number): void {
    this.note = note;
    const bar = Math.floor(note / (BEATS_PER_BAR * NOTES_PER_BEAT));
    const root = CHORDS[bar % CHORDS.length] ?? 0;
    // Four bars make a phrase that repeats with a different ending.
    const place = note % (4 * BEATS_PER_BAR * NOTES_PER_BEAT);
    const random = seededNumber(this.seed + 10 + (bar % 4 === 3 ? note : place));
    const step = PENTATONIC[Math.floor(random * 1.3 * PENTATONIC.length)];
    if (step !== undefined) this.tune(this.melody, step);
    if (note % (BEATS_PER_BAR * NOTES_PER_BEAT * 0.5) === 0) this.tune(this.bass, root - 24);
  }

  private tune(voice: Voice, semitones: number): void {
    voice.advance = (TABLE_LENGTH * this.keyHertz * 2 ** (semitones / 12)) / this.sampleRate;
    voice.age = 0;
  }

  /** Adds a voice to frames of constant loudness. */
  private sound(voice: Voice, frames: Int16Array, fade: number): void {
    const attack = Math.min(1, voice.age * 200 + 0.1);
    const loudness = fade * attack * voice.loudness * Math.exp(-voice.age / voice.decaySeconds);
    let { phase } = voice;
    const { advance } = voice;
    for (let at = 0; at < frames.length; at++) {
      phase += advance;
      if (phase >= TABLE_LENGTH) phase -= TABLE_LENGTH;
      frames[at] = (frames[at] as number) + loudness * (STRING[phase | 0] as number);
    }
    voice.phase = phase;
    voice.age += frames.length / this.sampleRate;
  }
}
