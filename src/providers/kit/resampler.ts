/** Zero crossings of the filter on each side; more make it steeper. With 16, aliases stay 60 dB below speech. */
const CROSSINGS = 16;

/**
 * Changes the sample rate of a mono stream by a windowed-sinc filter
 * (https://ccrma.stanford.edu/~jos/resample/Theory_Ideal_Bandlimited_Interpolation.html). Its output is not delayed.
 */
export class Resampler {
  /** The positions of output samples between two input samples. Each has its own kernel. */
  private readonly phases: number;
  /** Phases from one output sample to the next. */
  private readonly step: number;
  private readonly kernels: readonly Float32Array[];
  /** How many input samples on each side of its position an output sample depends on. */
  private readonly reach: number;
  private input: Float32Array;
  /** The position of the next output sample, relative to the first sample of `input`. */
  private position = 0;

  /**
   * @param inputHz, outputHz must have a large common divisor: there are `outputHz / divisor` phases, and each kernel
   *   takes memory
   */
  constructor(inputHz: number, outputHz: number) {
    const divisor = greatestCommonDivisor(inputHz, outputHz);
    this.phases = outputHz / divisor;
    this.step = inputHz / divisor;
    // Frequencies above half of the lower rate would become aliases.
    const cutoff = Math.min(1, outputHz / inputHz);
    this.reach = Math.ceil(CROSSINGS / cutoff);
    this.kernels = Array.from({ length: this.phases }, (_, phase) =>
      createKernel(phase / this.phases, cutoff, this.reach),
    );
    this.input = new Float32Array(this.reach - 1);
  }

  /** Returns the output samples that `samples` complete. */
  push(samples: Int16Array): Int16Array {
    return this.advance(Float32Array.from(samples));
  }

  /** Returns the remaining output samples. */
  end(): Int16Array {
    return this.advance(new Float32Array(this.reach));
  }

  private advance(arrived: Float32Array): Int16Array {
    const input = new Float32Array(this.input.length + arrived.length);
    input.set(this.input);
    input.set(arrived, this.input.length);
    const lastStart = input.length - 2 * this.reach;
    const count = Math.max(0, Math.ceil(((lastStart + 1) * this.phases - this.position) / this.step));
    const output = new Int16Array(count);
    for (let index = 0; index < count; index++) {
      output[index] = this.sampleAt(input, this.position);
      this.position += this.step;
    }
    const used = Math.min(input.length, Math.floor(this.position / this.phases));
    this.input = input.slice(used);
    this.position -= used * this.phases;
    return output;
  }

  private sampleAt(input: Float32Array, position: number): number {
    const start = Math.floor(position / this.phases);
    const kernel = this.kernels[position % this.phases] ?? [];
    let sum = 0;
    for (let tap = 0; tap < kernel.length; tap++) sum += (input[start + tap] ?? 0) * (kernel[tap] ?? 0);
    return Math.max(-32_768, Math.min(32_767, Math.round(sum)));
  }
}

/** Weights of the `2 * reach` samples around a position that lies `fraction` after the sample at `reach - 1`. */
function createKernel(fraction: number, cutoff: number, reach: number): Float32Array {
  const weights = Float32Array.from({ length: 2 * reach }, (_, tap) => {
    const distance = tap - (reach - 1) - fraction;
    const window = Math.cos((Math.PI / 2) * Math.min(1, Math.abs(distance) / reach)) ** 2;
    return sinc(distance * cutoff) * window;
  });
  const sum = weights.reduce((total, weight) => total + weight, 0);
  return weights.map((weight) => weight / sum);
}

function sinc(x: number): number {
  return x === 0 ? 1 : Math.sin(Math.PI * x) / (Math.PI * x);
}

function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b);
}
