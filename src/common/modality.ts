/** What a model does; the contract's `modality`. A key may be restricted to some of them. */
export const MODALITIES = ['text', 'embedding', 'image', 'speech', 'transcription', 'video', 'music'] as const;

export type Modality = (typeof MODALITIES)[number];
