/** Text forms of the document that DTOs check too; the agreement test keeps both sides equal. */

/** `<vendor>/<model_name>`, at most 256 characters. */
export const MODEL_ID = /^(?=.{3,256}$)[A-Za-z0-9._-]+\/[!-~]+$/;

/**
 * The https address of a public host, or a `data:` address. Only the beginning is looked at: images may be megabytes.
 */
export const IMAGE_ADDRESS = /^(https:\/\/[^/\s]|data:)/;

/** A `data:` address or base64. No other address: whatever reads it upstream would fetch it unchecked. */
export const INLINE_DATA = /^(data:|[A-Za-z0-9+/_=\s-]+$)/;

/** Names of functions and of JSON schemas. */
export const FUNCTION_NAME = /^[a-zA-Z0-9_-]{1,64}$/;

/** `WIDTHxHEIGHT` in pixels, or `auto`. */
export const IMAGE_SIZE = /^([1-9][0-9]{0,4}x[1-9][0-9]{0,4}|auto)$/;

/** An https address, a `data:` address of an image, or bare base64. Only the beginning is looked at. */
export const IMAGE_SOURCE = /^([hH][tT][tT][pP][sS]:\/\/[^/\s]|data:image\/|[A-Za-z0-9+/]{16})/;

/** An https address of whatever host. */
export const HTTPS_URL = /^[hH][tT][tT][pP][sS]:\/\/[^/\s]\S*$/;

/** `WIDTH:HEIGHT`. */
export const ASPECT_RATIO = /^[1-9][0-9]{0,3}:[1-9][0-9]{0,3}$/;
