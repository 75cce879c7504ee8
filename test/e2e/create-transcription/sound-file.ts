/** A WAV file of a tone: 8 kHz, mono, 8 bits, so that a second has 8,000 bytes. */
export function wavFile(seconds: number): Buffer {
  const samples = Buffer.alloc(Math.round(seconds * 8_000), 128);
  for (let index = 0; index < samples.length; index++) samples[index] = 128 + 60 * Math.sin(index / 3);
  const header = Buffer.alloc(44);
  header.write('RIFF', 0);
  header.writeUInt32LE(36 + samples.length, 4);
  header.write('WAVEfmt ', 8);
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(1, 20);
  header.writeUInt16LE(1, 22);
  header.writeUInt32LE(8_000, 24);
  header.writeUInt32LE(8_000, 28);
  header.writeUInt16LE(1, 32);
  header.writeUInt16LE(8, 34);
  header.write('data', 36);
  header.writeUInt32LE(samples.length, 40);
  return Buffer.concat([header, samples]);
}

/** A form as clients send it; a list becomes one part per item. */
export function formWith(fields: Readonly<Record<string, string | readonly string[]>>, file?: Buffer | null): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) {
    for (const item of [value].flat()) form.append(name, item as string);
  }
  if (file !== null)
    form.append('file', new Blob([new Uint8Array(file ?? wavFile(2.5))], { type: 'audio/wav' }), 'a.wav');
  return form;
}
