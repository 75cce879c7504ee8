/** Text forms of the document that DTOs check too; the agreement test keeps both sides equal. */

/** `<vendor>/<model_name>`, at most 256 characters. */
export const MODEL_ID = /^(?=.{3,256}$)[A-Za-z0-9._-]+\/[!-~]+$/;

/** The https address of a public host, or a `data:` address. Only the beginning is looked at: images may be megabytes. */
export const IMAGE_ADDRESS = /^(https:\/\/[^/\s]|data:)/;

/** Names of functions and of JSON schemas. */
export const FUNCTION_NAME = /^[a-zA-Z0-9_-]{1,64}$/;
