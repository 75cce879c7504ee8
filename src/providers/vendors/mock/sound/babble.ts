import { hashText, seededNumber } from '../random';

/** Sample rate of the mock's speech: 16 bits, one channel. */
export const SPEECH_RATE = 24_000;

const CHARACTERS_PER_SECOND = 14;
const PERIOD_LENGTH = 512;
const LOUDNESS = 11_000;
/** About 1.3 ms. */
const STEP_FRAMES = 32;
const NYQUIST = SPEECH_RATE / 2;

const SINE = Float32Array.from({ length: PERIOD_LENGTH }, (_zero, at) => Math.sin((2 * Math.PI * at) / PERIOD_LENGTH));

/** The sound of a letter. */
interface Sound {
  /** Resonances of the mouth in hertz; none: breath only. */
  readonly formants: readonly number[];
  /** 0 to 1. */
  readonly voice: number;
  readonly breath: number;
}

const SILENCE: Sound = { formants: [], voice: 0, breath: 0 };
const VOWELS: readonly Sound[] = [
  vowel(730, 1090, 2440),
  vowel(530, 1840, 2480),
  vowel(300, 2250, 3010),
  vowel(570, 840, 2410),
  vowel(320, 870, 2240),
];
const VOWEL_LETTERS = 'aeiou';
const SOUNDS: ReadonlyMap<string, Sound> = new Map([
  ...[...VOWEL_LETTERS].map((letter, index): [string, Sound] => [letter, VOWELS[index] ?? SILENCE]),
  ['y', vowel(300, 1900, 2600)],
  ...[...'mnlrwjbdgvz'].map((letter, index): [string, Sound] => [
    letter,
    { formants: [260 + index * 12, 950 + ((index * 370) % 900), 2300], voice: 0.5, breath: index > 5 ? 0.06 : 0 },
  ]),
  ...[...'sfhcxkptq'].map((letter, index): [string, Sound] => [
    letter,
    { formants: [], voice: 0, breath: 0.22 - index * 0.015 },
  ]),
]);

/** Pitches of the voices that the catalogue names, in hertz; other voices get a derived pitch. */
const PITCHES: ReadonlyMap<string, number> = new Map([
  ['alloy', 150],
  ['ash', 105],
  ['coral', 205],
  ['echo', 92],
  ['nova', 230],
]);

/** A text as babble: a tone for every vowel, a hum or a hiss for every consonant, a pause for the rest. */
export class Babble {
  readonly totalFrames: number;

  private readonly letters: readonly string[];
  private readonly framesPerLetter: number;
  private readonly pitch: number;
  private readonly periods = new Map<Sound, Float32Array>();
  private frame = 0;
  private phase = 0;

  /** @param speed 1 speaks 14 characters a second. */
  constructor(text: string, voice: string, speed: number) {
    this.letters = Array.from(text.normalize('NFC'), (character) => character.normalize('NFD').charAt(0).toLowerCase());
    this.framesPerLetter = SPEECH_RATE / (CHARACTERS_PER_SECOND * speed);
    this.totalFrames = Math.ceil(this.letters.length * this.framesPerLetter);
    this.pitch = PITCHES.get(voice) ?? 90 + Math.round(seededNumber(hashText(voice)) * 140);
  }

  /** The next frames, at most `count`; none at the end. */
  read(count: number): Int16Array<ArrayBuffer> {
    const frames = new Int16Array(Math.min(count, this.totalFrames - this.frame));
    for (let at = 0; at < frames.length;) {
      const index = Math.floor(this.frame / this.framesPerLetter);
      const end = Math.min(Math.ceil((index + 1) * this.framesPerLetter) - this.frame + at, frames.length);
      this.sing(soundOf(this.letters[index] ?? ' '), index, frames.subarray(at, end));
      at = end;
    }
    return frames;
  }

  /** Fills a part of one letter, in steps of constant loudness and pitch. */
  private sing(sound: Sound, index: number, frames: Int16Array): void {
    const period = this.periodOf(sound);
    const start = index * this.framesPerLetter;
    for (let at = 0; at < frames.length; at += STEP_FRAMES) {
      const share = (this.frame - start) / this.framesPerLetter;
      const swell = LOUDNESS * Math.min(1, 8 * share + 0.1, 8 * (1 - share) + 0.1);
      const melody = 1 + 0.08 * Math.sin(this.frame / 9_000) + 0.05 * Math.sin(this.frame / 2_300);
      const advance = (PERIOD_LENGTH * this.pitch * melody) / SPEECH_RATE;
      const step = frames.subarray(at, at + STEP_FRAMES);
      this.fill(step, period, advance, swell);
      if (sound.breath > 0) addNoise(step, this.frame, swell * sound.breath);
      this.frame += step.length;
    }
  }

  private fill(frames: Int16Array, period: Float32Array, advance: number, loudness: number): void {
    let phase = this.phase;
    for (let at = 0; at < frames.length; at++) {
      phase += advance;
      if (phase >= PERIOD_LENGTH) phase -= PERIOD_LENGTH;
      frames[at] = loudness * (period[phase | 0] as number);
    }
    this.phase = phase;
  }

  /** One period of the voice, shaped by the mouth: overtones near a formant are loud. */
  private periodOf(sound: Sound): Float32Array {
    const known = this.periods.get(sound);
    if (known !== undefined) return known;
    const period = new Float32Array(PERIOD_LENGTH);
    for (let overtone = 1; sound.voice > 0 && overtone * this.pitch < NYQUIST; overtone++) {
      const level = levelAt(overtone * this.pitch, sound.formants) / Math.sqrt(overtone);
      for (let at = 0; at < PERIOD_LENGTH; at++) {
        period[at] = (period[at] as number) + level * (SINE[(overtone * at) % PERIOD_LENGTH] as number);
      }
    }
    const peak = period.reduce((most, value) => Math.max(most, Math.abs(value)), 1e-6);
    const scaled = period.map((value) => (sound.voice * value) / peak);
    this.periods.set(sound, scaled);
    return scaled;
  }
}

function addNoise(frames: Int16Array, seed: number, loudness: number): void {
  let state = seed | 1;
  for (let at = 0; at < frames.length; at++) {
    // Xorshift: random enough for a hiss, and cheap thousands of times a second.
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    frames[at] = (frames[at] as number) + (loudness * state) / 2 ** 31;
  }
}

function levelAt(frequency: number, formants: readonly number[]): number {
  return formants.reduce((sum, formant, index) => {
    const width = 90 + 40 * index;
    return sum + 1 / ((1 + index) * (1 + ((frequency - formant) / width) ** 2));
  }, 0);
}

function soundOf(letter: string): Sound {
  const known = SOUNDS.get(letter);
  if (known !== undefined) return known;
  return /[\p{L}\p{N}]/u.test(letter) ? (VOWELS[(letter.codePointAt(0) ?? 0) % VOWELS.length] ?? SILENCE) : SILENCE;
}

function vowel(...formants: number[]): Sound {
  return { formants, voice: 1, breath: 0 };
}
