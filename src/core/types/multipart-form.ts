/** A file of a form, complete and in memory. Its type is declared by the client and not trusted. */
export interface FormFile {
  /** Field name as sent, without a trailing `[]`. */
  readonly field: string;
  readonly contentType: string;
  readonly bytes: Buffer;
  /** SHA-256 in hexadecimal, computed while the file was received. */
  readonly sha256: string;
}

/**
 * The body of a `multipart/form-data` request. Field names lose a trailing `[]`, which some clients add to repeated
 * fields.
 */
export class MultipartForm {
  constructor(
    /** Values in the order sent. */
    readonly fields: ReadonlyMap<string, readonly string[]>,
    readonly files: readonly FormFile[],
  ) {}

  filesOf(field: string): readonly FormFile[] {
    return this.files.filter((file) => file.field === field);
  }
}
