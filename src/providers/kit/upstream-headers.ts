/** Header fields of an upstream's reply, names in lower case. */
export type UpstreamHeaders = Readonly<Record<string, string | string[] | undefined>>;
